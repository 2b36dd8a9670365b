import type { A2aEnvelope, ContentPart } from '#rollcall/providers';
import type { SpendingLimit } from '../spending/spending.js';
import type { RunUsage } from './journal/run.usage.js';
import type { ContentPreview, ResultPreview } from './run.preview.js';
import type { RunResult, RunStatus, WaitingFor } from './run.status.js';
import type { StoredStep } from './run.step.js';

/** Which agent executes a run. An empty target stands for the default agent (S0.8). */
export interface RunTarget {
  /** An agent of the registry. */
  readonly agent?: string;
  readonly definition?: string;
  /** The best agent of the registry that has all these capabilities. */
  readonly capabilities?: readonly string[];
  /** The strategy of the ranking. */
  readonly prefer?: string;
  /** The price that the agent agreed to, if the run fulfils a contract. */
  readonly priceMicroUsd?: number;
}

/** One persisted execution of an agent, without its contents. */
export interface RunFacts {
  readonly id: string;
  readonly namespace: string;
  /** The run at the top of the tree; the id of the run itself if it was not delegated. */
  readonly rootId: string;
  readonly parentId: string | null;
  readonly depth: number;
  /** The run that this run repeats. */
  readonly retryOf: string | null;
  /** Groups the runs of one conversation of a caller; the id of the run itself if it belongs to no conversation. */
  readonly conversationId: string;
  readonly state: RunStatus;
  /** When the run entered its state. */
  readonly stateAt: string;
  readonly waitingFor: WaitingFor | null;
  readonly target: RunTarget;
  /** The agent that executes the run: an agentId, or the name of a definition. */
  readonly agentId: string;
  readonly definition: { readonly name: string; readonly revision: number } | null;
  readonly limit: SpendingLimit;
  readonly deadline: string | null;
  /** The tokens and the cost of the run without its descendants, as of the last change of its state. An unknown count is absent. */
  readonly usage: RunUsage;
  /** How often a replica has begun or continued the execution. */
  readonly attempts: number;
  /** How many executions ended without a result and without a hand-over, because the replica crashed or lost its lease. */
  readonly crashes: number;
  /** How many of them ended in the step in which the last one ended. */
  readonly crashesInStep: number;
  readonly createdBy: string;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  /** How long the contents are kept after the end, if the request that started the run limits this time. */
  readonly redactAfterMs: number | null;
  /** When the contents were removed: the input, the answer and the texts of the steps are then placeholders. */
  readonly redactedAt: string | null;
}

/** A position in a trace, as the headers of W3C Trace Context. */
export interface TracePosition {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/** How the spans of a run are connected, although several replicas may execute it. */
export interface RunTrace {
  /** The request that started the run. */
  readonly parent: TracePosition;
  /** The last execution of the run. */
  readonly execution?: TracePosition;
}

export interface Run extends RunFacts {
  readonly input: readonly ContentPart[];
  /** What an A2A client sent with the input. */
  readonly a2a?: A2aEnvelope;
  /** Set if the run is traced. */
  readonly trace?: RunTrace;
  readonly result: RunResult | null;
}

/** A run as lists show it: with previews of its contents. */
export interface RunSummary extends RunFacts {
  readonly inputPreview: ContentPreview;
  readonly resultPreview: ResultPreview | null;
}

export interface StartRun {
  readonly namespace: string;
  readonly target: RunTarget;
  readonly input: readonly ContentPart[];
  /** The id that the caller gave to the message with the input. */
  readonly messageId?: string;
  /** What an A2A client sent with the input. An agent that uses A2A receives it. */
  readonly a2a?: A2aEnvelope;
  readonly conversationId?: string;
  readonly limit?: SpendingLimit;
  /** In milliseconds since 1970. */
  readonly deadline?: number;
  /** How long the contents are kept after the end. A shorter time of the installation takes precedence. */
  readonly redactAfterMs?: number;
  /** The principal that starts the run. */
  readonly by: string;
  /** The run that pays for this run, together with its ancestors: all their budgets are charged. */
  readonly paidBy?: string;
}

/** The runs that a caller sees; all other runs do not exist for it (S-20). */
export interface VisibleRuns {
  readonly namespace: string;
  /** Only the runs that this principal started, and the runs that they delegated. Absent: all runs of the namespace. */
  readonly startedBy?: string;
}

/** Identifies a run for a caller. */
export interface RunKey extends VisibleRuns {
  readonly id: string;
}

/** Who changes a run. Without `mayManage`, a principal can change only the runs that it started. */
export interface RunActor {
  readonly by: string;
  readonly mayManage: boolean;
}

export interface RunFilter extends VisibleRuns {
  readonly states?: readonly RunStatus[];
  readonly agentId?: string;
  readonly definition?: string;
  /** All runs of one tree. Without it, only roots are listed. */
  readonly rootId?: string;
  /** The range of creation times: `from` is included, `to` is not. */
  readonly from?: string;
  readonly to?: string;
}

/** Selects roots for a list by the time of their last change. */
export interface ChangeFilter extends VisibleRuns {
  readonly states?: readonly RunStatus[];
  readonly waitingFor?: readonly WaitingFor[];
  readonly agentId?: string;
  readonly conversationId?: string;
  /** Only runs that changed after this time. */
  readonly after?: string;
}

/** The position of a run in a list by the time of its last change. */
export interface ChangePosition {
  /** In microseconds since 1970. */
  readonly at: string;
  readonly seq: string;
}

export type ChangedRun = RunSummary & { readonly position: ChangePosition };

/** A run in a list, with its position in the order of creation. */
export interface ListedRun extends RunSummary {
  readonly seq: number;
}

/** A decision about one waiting call. */
export interface RunDecision {
  readonly callId: string;
  /** From the pending approval: the decision holds for exactly this input. */
  readonly inputHash: string;
  readonly approved: boolean;
  readonly reason?: string;
  /** Only after an interruption: the result of the call, if it is known. The call is then not repeated. */
  readonly output?: string;
}

export interface RunTree {
  readonly run: RunSummary;
  /** The tokens and the money of the run and all its descendants, from the budget ledger. */
  readonly subtree: { readonly tokens: number; readonly microUsd: number };
  readonly children: readonly RunTree[];
}

/** A run whose steps and delegated runs are read piece by piece. */
export interface RunExport {
  readonly run: Run;
  /** Pages of the steps, in order. */
  readonly steps: () => AsyncIterable<readonly StoredStep[]>;
  /** The runs that it delegated, in order. */
  readonly children: () => AsyncIterable<RunExport>;
}
