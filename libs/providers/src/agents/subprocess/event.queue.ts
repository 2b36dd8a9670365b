/** A queue of events for one reader. The reader gets the events in order, and then the error, if there is one. */
export class EventQueue<Event> implements AsyncIterable<Event> {
  private readonly waiting: Event[] = [];
  private ending?: { error?: Error };
  private wake?: () => void;

  push(event: Event): void {
    if (this.ending) return;
    this.waiting.push(event);
    this.wake?.();
  }

  end(error?: Error): void {
    this.ending ??= { error };
    this.wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event> {
    for (;;) {
      const event = this.waiting.shift();
      if (event !== undefined) yield event;
      else if (this.ending?.error) throw this.ending.error;
      else if (this.ending) return;
      else await this.change();
    }
  }

  private async change(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.wake = resolve;
    await promise;
  }
}
