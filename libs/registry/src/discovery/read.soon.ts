import { Logger } from '@nestjs/common';

const SLICE = 2_000;

/**
 * Reads of Postgres what changed: at once, and without holding up whoever changed it. Changes that come while one reading is
 * under way share the next. What could not be read stays to be read, so no change is ever missed.
 */
export class ReadSoon {
  private readonly log = new Logger('directory');
  private readonly waiting = new Set<string>();
  private running?: Promise<void>;

  constructor(
    private readonly what: string,
    private readonly read: (agentIds: readonly string[]) => Promise<unknown>,
  ) {}

  /** With none, tries again what could not be read before. */
  add(agentIds: readonly string[]): void {
    for (const agentId of agentIds) this.waiting.add(agentId);
    if (this.waiting.size > 0) this.running ??= this.readAll();
  }

  /** Settles when no reading is under way. */
  async idle(): Promise<void> {
    await this.running;
  }

  private async readAll(): Promise<void> {
    while (this.waiting.size > 0 && (await this.readSlice([...this.waiting].slice(0, SLICE))));
    this.running = undefined;
  }

  private async readSlice(agentIds: string[]): Promise<boolean> {
    for (const agentId of agentIds) this.waiting.delete(agentId); // before reading: what changes meanwhile comes again
    try {
      await this.read(agentIds);
      return true;
    } catch (error) {
      for (const agentId of agentIds) this.waiting.add(agentId);
      this.log.warn({ event: `directory.${this.what}_failed`, waiting: this.waiting.size, err: error });
      return false;
    }
  }
}
