import { GroupCommit } from '#rollcall/platform';

interface Commits {
  commit(items: readonly unknown[]): Promise<readonly unknown[]>;
}

/**
 * Replaces group commits with one transaction for each write: steps, reservations and charges. The transactions of concurrent runs use
 * the whole pool, as they would without `GroupCommit`.
 */
export function commitEachWrite(): void {
  Object.defineProperty(GroupCommit.prototype, 'submit', {
    async value(this: Commits, item: unknown, done: (result: unknown) => void): Promise<void> {
      const [result] = await this.commit([item]);
      done(result);
    },
  });
}
