import { isFinal, type RunFeed, type RunKey, type RunStreamEvent } from '#rollcall/agent-runtime';
import { DatabaseBusyError, DatabaseUnavailableError } from '#rollcall/platform';
import { SendSpace } from '../streams/send.space.js';
import { databaseUnavailable, shuttingDown, slowConsumer, type StreamEnd } from '../streams/stream.end.js';

const RESUME = 'Connect again, resume each run with the last step that you received as `afterStep`';

/** A connection that the events of one run are written to. */
export interface RunSink {
  /** The number of bytes in the send buffer. */
  readonly buffered: number;
  /** `lastStep` is the last step that was sent, including this event. */
  send(event: RunStreamEvent, lastStep: number): void;
  /** The last state was sent. */
  finish(): void;
  end(reason: StreamEnd): void;
  /** Ends the connection after an unexpected error. */
  fail(error: unknown): void;
}

export interface RunStreamOptions {
  readonly key: RunKey;
  readonly afterStep: number;
  /** The maximum number of bytes in the send buffer. */
  readonly buffer: number;
  readonly slowAfterMs: number;
}

/**
 * Sends the events of one run at the pace of the connection: the next event is read only when the send buffer has space. A
 * connection whose buffer stays full for too long is ended.
 */
export class RunStream {
  private readonly stop = new AbortController();
  private lastStep: number;
  private readonly space = new SendSpace();

  constructor(
    private readonly feed: RunFeed,
    private readonly sink: RunSink,
    private readonly options: RunStreamOptions,
  ) {
    this.lastStep = options.afterStep;
  }

  /** The last step that was sent. A client resumes after this step. */
  get afterStep(): number {
    return this.lastStep;
  }

  /** Sends events until the run is finished or the stream is closed. Never rejects. */
  async run(): Promise<void> {
    try {
      const end = await this.sendAll();
      if (this.stop.signal.aborted) return;
      if (end === 'finished') this.sink.finish();
      else this.sink.end(end);
    } catch (error) {
      if (this.stop.signal.aborted) return;
      if (error instanceof DatabaseUnavailableError || error instanceof DatabaseBusyError)
        this.sink.end(databaseUnavailable());
      else this.sink.fail(error);
    }
  }

  /** Call this when buffered data was sent. */
  onDrain(): void {
    if (this.sink.buffered <= this.options.buffer / 2) this.space.notify();
  }

  close(): void {
    this.stop.abort();
    this.space.notify();
  }

  private async sendAll(): Promise<StreamEnd | 'finished'> {
    const { key, afterStep, buffer, slowAfterMs } = this.options;
    for await (const event of this.feed.watch(key, afterStep, this.stop.signal)) {
      if (event.type === 'step') this.lastStep = event.stored.seq;
      this.sink.send(event, this.lastStep);
      if (event.type === 'state' && isFinal(event.run.state)) return 'finished';
      if (this.sink.buffered > buffer && !(await this.space.wait(slowAfterMs))) return slowConsumer(RESUME);
      if (this.stop.signal.aborted) break;
    }
    return shuttingDown();
  }
}
