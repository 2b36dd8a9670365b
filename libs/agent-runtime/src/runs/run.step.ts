import type { A2aEnvelope, AgentResult, ContentPart, RemoteTask } from '#rollcall/providers';
import { toUserMessage } from '../agents/agent.mapper.js';
import type { LoopStep } from '../loop/loop.step.js';
import { resume } from '../loop/run.state.js';

/** A message of the caller: the input, or the continuation of the conversation. */
interface MessageStep {
  readonly type: 'message';
  readonly parts: readonly ContentPart[];
  /** The id that the caller gave to the message. */
  readonly messageId?: string;
  /** What an A2A client sent besides the parts. */
  readonly a2a?: A2aEnvelope;
}

/** A step of an agent that has its own loop, such as a remote agent. Its model calls are not visible. */
export type AgentStep =
  | { readonly type: 'tool-call'; readonly id: string; readonly name: string; readonly input: unknown }
  | {
      readonly type: 'tool-result';
      readonly id: string;
      readonly name: string;
      readonly output: string;
      readonly failed?: boolean;
    }
  /**
   * The call of the agent begins. If no `finished` step follows, the call was in progress when the run was interrupted. `callId` is the
   * task of the call: the run then continues to wait for its result.
   */
  | { readonly type: 'agent-called'; readonly idempotent: boolean; readonly callId?: string }
  /** The agent has accepted the call as a task of its own. After an interruption, it is asked for this task. */
  | { readonly type: 'agent-accepted'; readonly task: RemoteTask }
  /** The task of the agent waits for an authorization, or continues after it. */
  | { readonly type: 'authorization'; readonly required: boolean; readonly parts: readonly ContentPart[] }
  | { readonly type: 'finished'; readonly result: AgentResult };

/** One entry of a run: a message, a step of the loop of Rollcall, or a step of an agent with its own loop. */
export type RunStep = MessageStep | LoopStep | AgentStep;

/** A stored step. `seq` is its position in the run: 1, 2, 3 … without a gap. */
export interface StoredStep {
  readonly runId: string;
  readonly seq: number;
  readonly at: string;
  readonly step: RunStep;
}

/** The last message of the caller. */
export function lastMessage(steps: readonly RunStep[]): MessageStep {
  const last = steps.findLast((step) => step.type === 'message');
  if (!last) throw new Error('a run begins with a message');
  return last;
}

/** How many decisions about the call of an agent are recorded. */
export function decisionsOf(callId: string, steps: readonly RunStep[]): number {
  return steps.filter((step) => step.type === 'approval-decided' && step.callId === callId).length;
}

/** A piece of an answer, or what a tool is doing, while a run is executed. It is not stored. */
export interface LiveEvent {
  readonly type: 'text' | 'reasoning' | 'progress';
  readonly text: string;
  /** The events with the same number belong together. The first later step that does not continue the answer replaces them. */
  readonly afterStep: number;
}

/** The steps that an agent with its own loop reports while it works. */
export const AGENT_WORK: ReadonlySet<RunStep['type']> = new Set(['tool-call', 'tool-result', 'authorization']);

/** Whether the pieces of an answer before the step and after it are one text. */
export function continuesAnswer({ type }: RunStep): boolean {
  return AGENT_WORK.has(type) || type === 'agent-accepted';
}

const AGENT_STEPS: ReadonlySet<string> = new Set<AgentStep['type']>([
  'agent-called',
  'agent-accepted',
  'authorization',
  'tool-call',
  'tool-result',
  'finished',
]);

/** The steps of a run of the loop. Steps of other agents are left out. */
export function toLoopSteps(steps: readonly RunStep[]): LoopStep[] {
  return steps.flatMap((step): LoopStep[] => {
    if (step.type === 'message') return [{ type: 'message-received', messages: [toUserMessage(step)] }];
    return isLoopStep(step) ? [step] : [];
  });
}

function isLoopStep(step: LoopStep | AgentStep): step is LoopStep {
  return !AGENT_STEPS.has(step.type);
}

/** Whether a model call follows these steps. Such a call may have been in progress when the run was interrupted. */
export function isCallingModel(steps: readonly RunStep[]): boolean {
  return resume(toLoopSteps(steps)).openSteps.length === 0;
}
