import {
  aborted,
  type Agent,
  type AgentEvent,
  type AgentMessage,
  type HandleOptions,
  ProviderError,
} from '#rollcall/providers';
import { DeadlineReached } from '../loop/run.activity.js';
import { TaskCalls } from './task.calls.js';
import { TaskLostError, TaskUnchargedError } from './task.errors.js';
import type { TaskReport } from './task.js';

/** The call that a task stands for. */
interface TaskCall {
  readonly callId: string;
  /** The task was stored by an earlier execution of the run. */
  readonly isResumed: boolean;
  /** Whether the execution has ended on this replica, so that another replica may continue to wait for the result. */
  hasEnded(): boolean;
}

/** The options of a call whose task is stored. */
export interface TaskOptions extends HandleOptions {
  readonly taskCall?: TaskCall;
}

const NEVER = new AbortController().signal;

/**
 * An agent that takes its tasks. The task of a call is stored before `handle` is called, so `handle` only waits for the result. If the
 * caller stops waiting, the task is cancelled, unless another replica continues to wait for it.
 */
export class PullAgent implements Agent {
  readonly agentType = 'remote';
  readonly state = 'idle';

  constructor(
    readonly name: string,
    private readonly calls: TaskCalls,
  ) {}

  async *handle(
    _message: AgentMessage,
    { taskCall: task, signal = NEVER }: TaskOptions = {},
  ): AsyncGenerator<AgentEvent> {
    if (!task)
      throw new ProviderError('AGENT_REQUEST_REFUSED', `The agent ${this.name} takes only tasks of recorded runs.`);
    const wait = this.calls.open(task.callId, task.isResumed);
    let isOver = false;
    try {
      for (;;) {
        const event = await wait.next(signal);
        if (event?.type === 'text' || event?.type === 'progress') {
          yield event;
          continue;
        }
        isOver = true;
        if (event?.type === 'reported') return yield* eventsOf(this.name, event.report);
        if (event?.type === 'lost') throw new TaskLostError(this.name);
        const end = await this.endOf(task, signal);
        if (!(end instanceof Error)) return yield* eventsOf(this.name, end);
        throw end;
      }
    } finally {
      wait.close();
      if (!isOver && !task.hasEnded()) await this.calls.withdraw(task.callId, 'cancelled');
    }
  }

  async shutdown(): Promise<void> {
    await Promise.resolve();
  }

  /** Ends a call whose run stops waiting. A result that is stored already is used. A call that no agent has taken is not charged. */
  private async endOf({ callId, hasEnded }: TaskCall, signal: AbortSignal): Promise<Error | TaskReport> {
    const state = signal.reason instanceof DeadlineReached ? 'expired' : 'cancelled';
    const withdrawn = hasEnded() ? undefined : await this.calls.withdraw(callId, state);
    const { isOpen, wasTaken, report } = withdrawn ?? (await this.calls.stateOf(callId));
    if (report && !hasEnded()) return report;
    return isOpen || !wasTaken ? new TaskUnchargedError(this.name) : aborted(`The call to agent ${this.name}`);
  }
}

/** The events of a call that the agent has reported. */
function* eventsOf(name: string, report: TaskReport): Generator<AgentEvent> {
  const { outcome, artifacts = [], usage, reason = 'unknown', detail = '', conversationId } = report;
  if (outcome === 'failed') {
    const why = detail === '' ? '.' : `: ${detail}`;
    throw new ProviderError('AGENT_FAILED', `The agent ${name} failed${why}`, { usage });
  }
  for (const { id, name: title, parts } of artifacts)
    yield {
      type: 'artifact',
      artifact: { id, ...(title !== undefined && { name: title }), parts, append: false, last: true },
    };
  const parts = [...report.parts, ...artifacts.flatMap((artifact) => artifact.parts)];
  const whole = { parts, usage, ...(conversationId !== undefined && { conversationId }) };
  if (outcome === 'stopped') yield { type: 'finished', result: { ...whole, outcome, reason, detail } };
  else yield { type: 'finished', result: { ...whole, outcome } };
}
