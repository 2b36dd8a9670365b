import { until } from '#rollcall/test-support';

export interface RunEvent {
  id?: string;
  type: string;
  data: Record<string, unknown>;
}

/** A client of `/v1/runs/{id}/stream` that collects what it receives. */
export class RunWatcher {
  readonly events: RunEvent[] = [];
  /** The response has ended. */
  isOver = false;
  comments = 0;
  private readonly abort = new AbortController();

  private constructor(readonly status: number) {}

  static async open(url: string, key: string, headers: Record<string, string> = {}): Promise<RunWatcher> {
    const abort = new AbortController();
    const response = await fetch(url, {
      headers: { authorization: `Bearer ${key}`, ...headers },
      signal: abort.signal,
    });
    const watcher = new RunWatcher(response.status);
    watcher.abort.signal.addEventListener('abort', () => abort.abort());
    void watcher.read(response.body).catch(() => undefined);
    return watcher;
  }

  get steps(): number[] {
    return this.of('step').map(({ seq }) => Number(seq));
  }

  get states(): unknown[] {
    return this.of('state').map(({ state }) => state);
  }

  get lastId(): string {
    return this.events.findLast(({ id }) => id !== undefined)?.id ?? '';
  }

  of(type: string): Record<string, unknown>[] {
    return this.events.filter((event) => event.type === type).map(({ data }) => data);
  }

  async over(timeoutMs?: number): Promise<this> {
    await until('the stream has ended', () => this.isOver, timeoutMs);
    return this;
  }

  close(): void {
    this.abort.abort();
  }

  private async read(body: ReadableStream<Uint8Array> | null): Promise<void> {
    let text = '';
    const decoder = new TextDecoder();
    try {
      for await (const chunk of body ?? []) {
        text += decoder.decode(chunk, { stream: true });
        const blocks = text.split('\n\n');
        text = blocks.pop() ?? '';
        blocks.forEach((block) => this.accept(block));
      }
    } finally {
      this.isOver = true;
    }
  }

  private accept(block: string): void {
    if (block.startsWith(':')) return void (this.comments += 1);
    const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2))) as Record<
      string,
      string
    >;
    const { id, event = '', data = '{}' } = fields;
    this.events.push({
      ...(id !== undefined && { id }),
      type: event,
      data: JSON.parse(data) as Record<string, unknown>,
    });
  }
}
