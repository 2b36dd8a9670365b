import { Logger } from '@nestjs/common';

const SLICE = 2_000;

/**
 * Reads of Postgres what changed: at once, and without holding up whoever changed it. Changes that come while one reading is
 * under way share the next. What could not be read stays to be read, so no change is ever missed.
 */
export class ChangeReader {
  private readonly log = new Logger('directory');
  /** With the moment at which each was added, oldest first. */
  private waiting = new Map<string, number>();
  private running?: Promise<void>;
  private readingSince?: number;

  constructor(
    private readonly what: string,
    private readonly read: (agentIds: readonly string[]) => Promise<unknown>,
  ) {}

  /** With none, tries again what could not be read before. */
  add(agentIds: readonly string[]): void {
    const now = performance.now();
    for (const agentId of agentIds) if (!this.waiting.has(agentId)) this.waiting.set(agentId, now);
    if (this.waiting.size > 0) this.running ??= this.readAll();
  }

  /** For how long the oldest change has not been read, in milliseconds. */
  get behindMs(): number {
    if (this.readingSince === undefined && this.waiting.size === 0) return 0;
    const [oldest = Infinity] = this.waiting.values();
    return performance.now() - (this.readingSince ?? oldest);
  }

  /** Settles when no reading is under way. */
  async idle(): Promise<void> {
    await this.running;
  }

  private async readAll(): Promise<void> {
    while (this.waiting.size > 0 && (await this.readSlice([...this.waiting].slice(0, SLICE))));
    this.running = undefined;
  }

  private async readSlice(slice: [agentId: string, addedAt: number][]): Promise<boolean> {
    for (const [agentId] of slice) this.waiting.delete(agentId); // before reading: what changes meanwhile comes again
    this.readingSince = slice[0]?.[1];
    try {
      await this.read(slice.map(([agentId]) => agentId));
      return true;
    } catch (error) {
      this.waiting = new Map([...this.waiting, ...slice].toSorted(([, one], [, other]) => one - other));
      this.log.warn({ event: `directory.${this.what}_failed`, waiting: this.waiting.size, err: error });
      return false;
    } finally {
      this.readingSince = undefined;
    }
  }
}
