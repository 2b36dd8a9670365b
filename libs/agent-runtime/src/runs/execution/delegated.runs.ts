import { once } from 'node:events';
import { Inject, Injectable } from '@nestjs/common';
import { isOutage } from '#rollcall/platform';
import {
  type Agent,
  type AgentEvent,
  type AgentMessage,
  type CallContext,
  type HandleOptions,
  ProviderError,
} from '#rollcall/providers';
import { ReactAgent } from '../../agents/react.agent.js';
import { paidAgent, type PaymentOptions } from '../../calls/paid.call.js';
import { WrappedAgent } from '../../calls/wrapped.agent.js';
import { isDeadline } from '../../delegation/child.scope.js';
import { RunRecorder } from '../../delegation/delegation.services.js';
import type { DelegationTarget } from '../../delegation/targets/delegation.targets.js';
import { delegatedHashOf } from '../../loop/approval.hash.js';
import type { RunContext } from '../../loop/run.context.js';
import { type RunJournal, RunJournals } from '../journal/run.journal.js';
import { endOfDelegated, failureOf, isFinal, isReviewNeeded, type RunEnd } from '../run.status.js';
import { RUNS_OPTIONS, type RunsOptions } from '../runs.options.js';
import { type NewRun, RunStore } from '../store/run.store.js';
import { CallProgress, recordedCall, type AgentCall } from './agent.call.js';
import { RunClosedError, type RunScope } from './run.scope.js';

const CREATED_BY = 'system:runtime';
const CANCELLED: RunEnd = {
  state: 'stopped',
  waitingFor: null,
  result: { parts: [], reason: 'cancelled', detail: 'The parent run ended the delegation.' },
};

const LATE: RunEnd = {
  state: 'stopped',
  waitingFor: null,
  result: { parts: [], reason: 'deadline', detail: 'The deadline of the run has passed.' },
};

/**
 * Records delegated runs. They are executed inside the execution of their root, and fenced by its lease. After a crash, the root
 * repeats the tool call: the delegated run then continues from its own steps, or its recorded result is returned.
 */
@Injectable()
export class DelegatedRuns extends RunRecorder {
  private readonly scopes = new Map<string, RunScope>();
  private readonly resumed = new WeakSet<RunScope>();

  constructor(
    private readonly journals: RunJournals,
    private readonly store: RunStore,
    @Inject(RUNS_OPTIONS) private readonly options: Pick<RunsOptions, 'now'>,
  ) {
    super();
  }

  /** Records the delegated runs of this tree, until the returned function is called. `isResumed`: the tree was executed before. */
  follow(scope: RunScope, isResumed: boolean): () => void {
    const { rootId } = scope.fence;
    this.scopes.set(rootId, scope);
    if (isResumed) this.resumed.add(scope);
    return () => {
      if (this.scopes.get(rootId) === scope) this.scopes.delete(rootId);
    };
  }

  /** The revision of an interrupted execution. A delegated run with this id can exist only if the tree was interrupted. */
  async revisionOf({ namespace, rootRunId, runId: id }: RunContext): Promise<number | undefined> {
    const scope = this.scopes.get(rootRunId);
    if (!scope || !this.resumed.has(scope)) return undefined;
    return (await this.store.find({ namespace, id }))?.definition?.revision;
  }

  recorded(target: DelegationTarget, payment?: PaymentOptions): Agent {
    return new RecordedAgent(target.agent, (message, options) => this.handle(target, message, options, payment));
  }

  private async *handle(
    target: DelegationTarget,
    message: AgentMessage,
    options: HandleOptions = {},
    payment?: PaymentOptions,
  ): AsyncGenerator<AgentEvent> {
    const { context } = options;
    const scope = context && this.scopes.get(context.rootRunId);
    if (!context || !scope) return yield* paidAgent(target, payment).handle(message, options);
    const draft = { ...draftOf(message, context, options), definition: target.definition ?? null };
    scope.hadDelegated = true;
    const journal = await this.journals.openDelegated(draft, scope);
    if (isFinal(journal.run.state)) return yield recordedResult(journal);
    const signal = options.signal ? AbortSignal.any([options.signal, scope.signal]) : scope.signal;
    const given = { ...options, signal, context };
    const { now } = this.options;
    const call = { target, options: given, journal, now };
    yield* this.execute(payment ? { ...call, payment } : call);
  }

  private async *execute(call: AgentCall): AsyncGenerator<AgentEvent> {
    const { target, journal, options } = call;
    const progress = new CallProgress();
    const ended = journal.scope.beginDelegated();
    let end: RunEnd | undefined; // undefined if the parent stops reading
    try {
      for await (const event of recordedCall(call, progress)) {
        if (event.type === 'finished') {
          if (isReviewNeeded(event.result)) await waitForReview(journal, progress);
          if (target.agent instanceof ReactAgent) journal.add({ type: 'finished', result: event.result });
          end = endOfDelegated(event.result);
          await finish(journal, end, progress);
        }
        yield event;
      }
    } catch (error) {
      if (!options.signal.aborted) end = failureOf(error);
      throw error;
    } finally {
      await finish(journal, end ?? (isDeadline(options.signal) ? LATE : CANCELLED), progress).finally(ended);
      await journal.abandon();
    }
  }
}

/** Never resolves: the root waits for the decision, and the delegated run later continues together with the root. */
async function waitForReview({ scope, run }: RunJournal, { pending }: CallProgress): Promise<never> {
  scope.review(pending.map((call) => ({ ...call, runId: run.id, inputHash: delegatedHashOf(call.inputHash, run.id) })));
  if (!scope.isClosed) await once(scope.signal, 'abort');
  throw new RunClosedError();
}

/** The end of a delegated run is recorded once, unless the whole tree is closed for this replica. */
async function finish(journal: RunJournal, end: RunEnd, { usage }: CallProgress): Promise<void> {
  if (journal.isEnded || journal.scope.isClosed) return;
  try {
    await journal.finish(end, usage).catch(async (error: unknown) => {
      if (error instanceof RunClosedError || isOutage(error)) throw error;
      await journal.finish(failureOf(error), usage); // without the steps that could not be stored
    });
  } catch (error) {
    if (!(error instanceof RunClosedError)) throw error;
  }
}

function draftOf({ parts }: AgentMessage, context: CallContext, { budget }: HandleOptions): Omit<NewRun, 'definition'> {
  const { runId: id, namespace, rootRunId: rootId, parentRunId: parentId = null, depth, deadline } = context;
  const { agentName: agentId } = context;
  return {
    id,
    namespace,
    rootId,
    parentId,
    depth,
    deadline,
    agentId,
    input: parts,
    retryOf: null,
    state: 'running',
    target: { agent: agentId },
    host: null,
    redactAfterMs: null, // the contents of a tree are removed together
    limit: { tokens: budget?.tokens ?? null, microUsd: budget?.microUsd ?? null },
    createdBy: CREATED_BY,
  };
}

function recordedResult({ run, steps }: RunJournal): AgentEvent {
  const last = steps.findLast((step) => step.type === 'finished');
  if (last) return last;
  throw new ProviderError('AGENT_CRASHED', run.result?.error?.message ?? 'The delegated run was interrupted.');
}

class RecordedAgent extends WrappedAgent {
  constructor(
    agent: Agent,
    readonly handle: Agent['handle'],
  ) {
    super(agent);
  }
}
