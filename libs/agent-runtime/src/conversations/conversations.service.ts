import { Injectable } from '@nestjs/common';
import { Database, PAGE_BYTES, ROWS_OF_ANY_SIZE } from '#rollcall/platform';
import type { RunActor, VisibleRuns } from '../runs/run.js';
import type { StoredStep } from '../runs/run.step.js';
import { RunsService } from '../runs/runs.service.js';
import { RunStore } from '../runs/store/run.store.js';
import {
  type Conversation,
  ConversationForeignError,
  type ConversationMessage,
  ConversationNotFoundError,
  type ConversationQuery,
  type ConversationReading,
  type ConversationRun,
} from './conversation.js';
import { ConversationStore, type SequencedRun } from './conversation.store.js';

/** Each has up to 1 MB of messages. */
const RUNS_PER_READ = 5;

/** Reads and deletes conversations (S2.10). A conversation begins with the first run that names it. */
@Injectable()
export class ConversationsService {
  constructor(
    private readonly db: Database,
    private readonly store: ConversationStore,
    private readonly runs: RunStore,
    private readonly commands: RunsService,
  ) {}

  /** Newest first; `before` is the position of the last conversation of the previous page. */
  async list(visible: VisibleRuns, limit: number, before?: number): Promise<Conversation[]> {
    return await this.store.page(visible, limit, before);
  }

  /** Rejects with CONVERSATION_NOT_FOUND. `before` is the position of the last run of the previous page. */
  async read(query: ConversationQuery, limit: number, before?: number): Promise<ConversationReading> {
    const conversation = await this.get(query);
    const [cost, runs] = await Promise.all([
      this.store.cost(conversation),
      this.store.runs(conversation, limit, before),
    ]);
    return { conversation, cost, runs: await this.withMessages(runs) };
  }

  /** The runs with their messages. There are fewer if the messages are large: what follows the size of a page is not read. */
  private async withMessages(runs: readonly SequencedRun[]): Promise<ConversationRun[]> {
    const read: ConversationRun[] = [];
    let bytes = 0;
    for (let first = 0; first < runs.length && (bytes <= PAGE_BYTES || first < ROWS_OF_ANY_SIZE); first = read.length) {
      const some = runs.slice(first, first + RUNS_PER_READ);
      const sent = Map.groupBy(await this.runs.messages(some.map(({ id }) => id)), ({ runId }) => runId);
      const complete = some.map((run) => Object.assign(run, { messages: messagesOf(run, sent.get(run.id) ?? []) }));
      bytes += Buffer.byteLength(JSON.stringify(complete));
      read.push(...complete);
    }
    return read;
  }

  /**
   * Deletes a conversation: cancels its unfinished runs, and removes the contents of all of them as retention does. A later run with the
   * same id begins a new conversation. Rejects with CONVERSATION_NOT_FOUND or CONVERSATION_FOREIGN.
   */
  async remove(query: ConversationQuery, { by, mayManage }: RunActor): Promise<void> {
    const conversation = await this.get(query);
    const { createdBy, id } = conversation;
    if (!mayManage && createdBy !== by) throw new ConversationForeignError();
    await this.db.transaction(async () => {
      if (!(await this.store.lock(conversation))) throw new ConversationNotFoundError(id);
      await this.commands.cancelLocked(await this.store.openRuns(conversation), by);
      await this.store.remove(conversation);
    });
  }

  private async get(query: ConversationQuery): Promise<Conversation> {
    const found = await this.store.find(query);
    if (!found) throw new ConversationNotFoundError(query.id);
    return found;
  }
}

/** The messages of the caller, and the answer or the question of the agent. */
function messagesOf({ result, stateAt }: SequencedRun, sent: readonly StoredStep[]): ConversationMessage[] {
  const messages = sent.flatMap(({ at, step }): ConversationMessage[] =>
    step.type === 'message' ? [{ role: 'user', at, parts: step.parts }] : [],
  );
  if (result && result.parts.length > 0) messages.push({ role: 'agent', at: stateAt, parts: result.parts });
  return messages;
}
