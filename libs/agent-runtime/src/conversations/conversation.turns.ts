import { Injectable } from '@nestjs/common';
import { Semaphore } from '#rollcall/platform';
import type { ConversationKey } from './conversation.js';

/**
 * Lets the starts of one conversation on this replica wait for one another, in the order of arrival. The lock in the database orders them among
 * all replicas; without this class, each start that waits for it would hold a connection.
 */
@Injectable()
export class ConversationTurns {
  private readonly waits = new Map<string, Semaphore>();

  async inOrder<Result>(key: ConversationKey | undefined, work: () => Promise<Result>): Promise<Result> {
    if (!key) return await work();
    const name = JSON.stringify([key.namespace, key.createdBy, key.id]);
    const turns = this.waits.get(name) ?? new Semaphore(1);
    this.waits.set(name, turns);
    try {
      return await turns.run(work);
    } finally {
      if (turns.inUse === 0 && turns.waiting === 0) this.waits.delete(name);
    }
  }
}
