import { Inject, Injectable } from '@nestjs/common';
import { Database, inBatches, Periodic } from '#rollcall/platform';
import { ConversationStore } from '../../conversations/conversation.store.js';
import { TaskCalls } from '../../tasks/task.calls.js';
import { RunEvents } from '../journal/run.events.js';
import type { RunEnd } from '../run.status.js';
import { RUNS_OPTIONS, type RunsOptions } from '../runs.options.js';
import { RunStore } from '../store/run.store.js';

const LATE: RunEnd = {
  state: 'stopped',
  waitingFor: null,
  result: { parts: [], reason: 'deadline', detail: 'The deadline of the run passed while it waited.' },
};
const BATCH = 100;

/** Ends waiting runs at their deadline, and deletes old runs. Runs in execution end by themselves at their deadline. */
@Injectable()
export class RunSweeper {
  constructor(
    private readonly db: Database,
    private readonly store: RunStore,
    private readonly events: RunEvents,
    private readonly tasks: TaskCalls,
    private readonly conversations: ConversationStore,
    @Inject(RUNS_OPTIONS) private readonly options: RunsOptions,
  ) {}

  @Periodic('runs.expire', 2_000)
  async expire(): Promise<number> {
    return await inBatches(BATCH, async (limit) => {
      return await this.db.transaction(async () => {
        const late = await this.store.expire(LATE, limit);
        await this.tasks.cancel(
          late.map(({ id }) => id),
          'expired',
        );
        await this.events.ended(late.map((run) => ({ run, end: LATE })));
        return late.length;
      });
    });
  }

  /** Deletes finished runs with their descendants and steps, and the conversations that lost their last run. */
  @Periodic('runs.retention', 60_000)
  async prune(): Promise<number> {
    const { keepMs } = this.options;
    const runs = await inBatches(BATCH, async (limit) => await this.store.prune(keepMs, limit));
    await inBatches(BATCH, async (limit) => await this.conversations.prune(keepMs, limit));
    return runs;
  }
}
