import { Injectable } from '@nestjs/common';
import type { RunState } from '../loop/run.state.js';
import type { Run } from '../runs/run.js';
import { ConversationStore } from './conversation.store.js';
import { EarlierMessages } from './earlier.messages.js';

const RUNS_PER_READ = 25;
/** Without a summary, a run continues with the messages of at most this many earlier runs. */
const MAX_RUNS = 500;
/** The size of their steps in the database, where they are compressed. */
const MAX_BYTES = 8 * 2 ** 20;

/** What a run knows about the earlier runs of its conversation. It is read when the run is executed, so that every replica can do it. */
@Injectable()
export class ConversationHistory {
  constructor(private readonly store: ConversationStore) {}

  /**
   * The state with which the run begins: the messages of the earlier runs on the same agent (S2.10). Undefined if there are none. The
   * loop shortens them to the context window of the model, as it does within a run.
   */
  async earlierState(run: Run): Promise<RunState | undefined> {
    if (!continuesConversation(run)) return undefined;
    const earlier = new EarlierMessages(run.retryOf);
    let before: string | undefined;
    let bytes = 0;
    for (let runs = 0; runs < MAX_RUNS && !earlier.isComplete; runs += RUNS_PER_READ) {
      const heads = await this.store.earlier({ run, ...(before !== undefined && { before }) }, RUNS_PER_READ);
      const fitting = heads.filter((head) => (bytes += head.bytes) <= MAX_BYTES);
      const steps = await this.store.stepsOf(fitting.map(({ id }) => id));
      for (const head of fitting) earlier.add({ ...head, steps: steps.get(head.id) ?? [] });
      before = heads.at(-1)?.seq;
      if (heads.length < RUNS_PER_READ || fitting.length < heads.length) break;
    }
    const first = earlier.needsFirst ? await this.store.oldest({ run }) : undefined;
    if (first !== undefined)
      earlier.addFirst({ id: first, steps: (await this.store.stepsOf([first])).get(first) ?? [] });
    const state = earlier.state();
    return state.messages.length > 0 ? state : undefined;
  }

  /** The id that an agent with its own loop gave to the conversation in earlier runs. */
  async namedByAgent(run: Run): Promise<string | undefined> {
    return continuesConversation(run) ? await this.store.namedByAgent({ run }) : undefined;
  }
}

/** The first run of a conversation may have the same id as the conversation. */
function continuesConversation({ id, parentId, conversationId }: Run): boolean {
  return parentId === null && conversationId !== id;
}
