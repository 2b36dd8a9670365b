import { Inject, Injectable } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { isFinal, RunFeed, type RunKey, RunReader, type RunStreamEvent } from '#rollcall/agent-runtime';
import { DatabaseBusyError, DatabaseUnavailableError } from '#rollcall/platform';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { validationFailed } from '../http/validation/validation.errors.js';
import { SendSpace } from '../streams/send.space.js';
import { databaseUnavailable, shuttingDown, slowConsumer, type StreamEnd } from '../streams/stream.end.js';
import { StreamEndMessage } from '../streams/stream.message.view.js';
import { RunView, toRunView } from './run.view.js';
import { RunStepView, toStepView } from './step.view.js';

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

interface RunStreamOptions {
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

/** Opens streams of runs for SSE and WebSocket connections. */
@Injectable()
export class RunStreams {
  constructor(
    private readonly feed: RunFeed,
    private readonly reader: RunReader,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Returns a function that opens the stream. Rejects if the run does not exist, or has no step `afterStep`: the stream would silently
   * omit the steps up to this number.
   */
  async prepare(key: RunKey, afterStep: number, unknownStep = notAStep): Promise<(sink: RunSink) => RunStream> {
    const found = await this.reader.steps(key, Math.max(0, afterStep - 1), 1);
    if (afterStep > 0 && found.length === 0) throw unknownStep();
    const { buffer, slowAfter: slowAfterMs } = this.config.events;
    return (sink) => new RunStream(this.feed, sink, { key, afterStep, buffer, slowAfterMs });
  }

  /** Whether the run is finished, and this step is its last one. */
  async isEnd(key: RunKey, step: number): Promise<boolean> {
    const { state } = await this.reader.get(key);
    const found = await this.reader.steps(key, Math.max(0, step - 1), 2);
    return isFinal(state) && step > 0 && found.length === 1;
  }
}

function notAStep(): Error {
  return validationFailed([{ field: 'afterStep', message: 'afterStep must be the number of a step of this run' }]);
}

/** A piece of an answer. Pieces are not stored: a later step replaces them. */
@ApiSchema({ name: 'RunPiece' })
class RunPieceView {
  @ApiProperty({ example: 'Line 7 ', description: 'The text.' }) text: string;
  @ApiProperty({
    type: 'integer',
    example: 2,
    description:
      'Pieces with the same number are one text. The first later step replaces it, unless its type is `agent-accepted`, `authorization`, ' +
      '`tool-call` or `tool-result`: these steps continue the answer.',
  })
  afterStep: number;
}

const EVENT_ID = { example: '2', description: 'The value for `Last-Event-ID`.' };

@ApiSchema({ name: 'RunStepMessage' })
class RunStepMessage {
  @ApiProperty({ enum: ['step'], description: 'A step was stored.' }) event: 'step';
  @ApiPropertyOptional(EVENT_ID) id?: string;
  @ApiProperty({ type: RunStepView, description: 'The step.' }) data: RunStepView;
}

@ApiSchema({ name: 'RunStateMessage' })
class RunStateMessage {
  @ApiProperty({ enum: ['state'], description: 'The state of the run, at the beginning and after each change.' })
  event: 'state';
  @ApiPropertyOptional({ ...EVENT_ID, description: 'The value for `Last-Event-ID`. Only the last state has it.' })
  id?: string;
  @ApiProperty({ type: RunView, description: 'The run.' }) data: RunView;
}

@ApiSchema({ name: 'RunPieceMessage' })
class RunPieceMessage {
  @ApiProperty({
    enum: ['text', 'reasoning', 'progress'],
    description: 'A piece of the answer, of the reasoning, or of what a tool is doing.',
  })
  event: 'text' | 'reasoning' | 'progress';
  @ApiProperty({ type: RunPieceView, description: 'The piece.' }) data: RunPieceView;
}

/** The messages of the stream of a run, by their event. */
export const RUN_STREAM_MESSAGES = {
  step: RunStepMessage,
  state: RunStateMessage,
  text: RunPieceMessage,
  reasoning: RunPieceMessage,
  progress: RunPieceMessage,
  end: StreamEndMessage,
} satisfies Record<RunStreamEvent['type'] | 'end', unknown>;

/** One message of a stream, without its transport. */
interface RunStreamMessage {
  readonly type: RunStreamEvent['type'];
  readonly data: RunStepView | RunView | RunPieceView;
}

export function toStreamMessage(event: RunStreamEvent): RunStreamMessage {
  if (event.type === 'step') return { type: 'step', data: toStepView(event.stored) };
  if (event.type === 'state') return { type: 'state', data: toRunView(event.run) };
  const { type, text, afterStep } = event;
  return { type, data: { text, afterStep } };
}
