import { Logger } from '@nestjs/common';

const SLICE = 2_000;

/**
 * Reads changed agents from Postgres in the background, so that writers do not wait. Changes that arrive during a read share the
 * next read. Agents whose read failed are kept for the next attempt, so no change is lost.
 */
export class ChangeReader {
  private readonly log = new Logger('directory');
  /** The agentIds to read, with the time at which each was added, oldest first. */
  private waiting = new Map<string, number>();
  private running?: Promise<void>;
  private readingSince?: number;
  private reading: ReadonlySet<string> = new Set();

  constructor(
    private readonly name: string,
    private readonly read: (agentIds: readonly string[]) => Promise<unknown>,
  ) {}

  /** Schedules a read of these agents. Without agentIds, it retries failed reads. */
  add(agentIds: readonly string[]): void {
    const now = performance.now();
    for (const agentId of agentIds) if (!this.waiting.has(agentId)) this.waiting.set(agentId, now);
    if (this.waiting.size > 0) this.running ??= this.readAll();
  }

  /** Whether a read of the agent is scheduled or in progress. */
  isPending(agentId: string): boolean {
    return this.waiting.has(agentId) || this.reading.has(agentId);
  }

  /** How long the oldest unread change has been waiting, in milliseconds. */
  get behindMs(): number {
    if (this.readingSince === undefined && this.waiting.size === 0) return 0;
    const [oldest = Infinity] = this.waiting.values();
    return performance.now() - (this.readingSince ?? oldest);
  }

  /** Resolves when no read is in progress. */
  async idle(): Promise<void> {
    await this.running;
  }

  private async readAll(): Promise<void> {
    while (this.waiting.size > 0 && (await this.readSlice([...this.waiting].slice(0, SLICE))));
    this.running = undefined;
  }

  private async readSlice(slice: [agentId: string, addedAt: number][]): Promise<boolean> {
    for (const [agentId] of slice) this.waiting.delete(agentId); // first, so that a change during the read is added again
    this.readingSince = slice[0]?.[1];
    const agentIds = slice.map(([agentId]) => agentId);
    this.reading = new Set(agentIds);
    try {
      await this.read(agentIds);
      return true;
    } catch (error) {
      this.waiting = new Map([...this.waiting, ...slice].toSorted(([, one], [, other]) => one - other));
      this.log.warn({ event: `directory.${this.name}_failed`, waiting: this.waiting.size, err: error });
      return false;
    } finally {
      this.readingSince = undefined;
      this.reading = new Set();
    }
  }
}
