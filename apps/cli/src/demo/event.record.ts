import { setTimeout as delay } from 'node:timers/promises';
import { type EventName, eventName, type FollowedEvent, type Rollcall } from '#rollcall/client';
import { CommandError } from '../failure.js';

const WITHIN_MS = 60_000;
const POLL_MS = 50;

/** The events of a demo, so that the story can wait for what it has caused. */
export class EventRecord {
  private readonly events: FollowedEvent[] = [];
  private readonly expired = new Set<string>();
  private failure: Error | undefined;

  constructor(private readonly signal: AbortSignal) {}

  get types(): ReadonlySet<string> {
    return new Set([...this.events.map(eventName), ...this.expired]);
  }

  /** A position, so that events of an earlier loop are not taken for new ones. */
  get position(): number {
    return this.events.length;
  }

  /** Follows until the signal is aborted. */
  async follow(rollcall: Rollcall): Promise<void> {
    try {
      for await (const event of rollcall.follow({ after: 'oldest', signal: this.signal }))
        if (event.type !== 'snapshot') this.events.push(event);
    } catch (error) {
      if (!this.signal.aborted) this.failure = error instanceof Error ? error : new Error(String(error));
    }
  }

  async until(name: EventName, subject: string | undefined, after: number): Promise<FollowedEvent> {
    return await this.found(`event ${name} of ${subject ?? 'anything'}`, () =>
      this.events
        .slice(after)
        .find((event) => eventName(event) === name && (subject === undefined || event.subject === subject)),
    );
  }

  /** An event that expires is changed in the log, so a consumer that has received it does not receive it again. */
  async untilExpired(rollcall: Rollcall, { sequence }: FollowedEvent): Promise<void> {
    const expired = await this.found('expired event', async () => {
      const { items } = await rollcall.events.page({ after: String(Number(sequence) - 1), limit: 1 });
      return items.find((event) => eventName(event) === 'event.expired');
    });
    this.expired.add(eventName(expired));
  }

  private async found<Found>(what: string, find: () => Found | Promise<Found>): Promise<NonNullable<Found>> {
    const deadline = performance.now() + WITHIN_MS;
    for (;;) {
      this.signal.throwIfAborted();
      if (this.failure) throw this.failure;
      const found = await find();
      if (found !== undefined && found !== null) return found;
      if (performance.now() > deadline)
        throw new CommandError('DEMO_FAILED', `No ${what} after ${WITHIN_MS / 1_000} s.`);
      await delay(POLL_MS, undefined, { signal: this.signal });
    }
  }
}
