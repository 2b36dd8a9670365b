import type { ServerResponse } from 'node:http';
import { Logger } from '@nestjs/common';
import { isFinal, type RunStreamEvent } from '#rollcall/agent-runtime';
import type { StreamConnection } from '../streams/stream.connections.js';
import type { StreamEnd } from '../streams/stream.end.js';
import { toMessage } from './run.message.js';
import type { RunSink, RunStream } from './run.stream.js';

/** The suffix of the `id` of the last state. A client that has received this `id` has received the whole stream. */
export const LAST = '-end';

/** One response with the events of a run. The `id` of a step is its number. */
export class RunSseConnection implements RunSink, StreamConnection {
  /** A client resumes with `afterStep`, which `end` sends, and not with a cursor. */
  readonly cursor = undefined;
  private readonly log = new Logger('runs');
  private stream?: RunStream;

  constructor(private readonly response: ServerResponse) {
    response.socket?.setTimeout(0);
    response.on('drain', () => this.stream?.onDrain());
  }

  get buffered(): number {
    return this.response.writableLength;
  }

  get open(): boolean {
    return !this.response.writableEnded && !this.response.destroyed;
  }

  async follow(open: (sink: RunSink) => RunStream): Promise<void> {
    this.response.write(': connected\n\n');
    this.stream = open(this);
    await this.stream.run();
  }

  send(event: RunStreamEvent, lastStep: number): void {
    const { type, data } = toMessage(event);
    this.response.write(`${idOf(event, lastStep)}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  beat(): void {
    this.response.write(': heartbeat\n\n');
  }

  finish(): void {
    this.response.end();
  }

  /** A slow consumer gets no `end` event, because it does not read. */
  end({ code, detail }: StreamEnd): void {
    this.stream?.close();
    if (code === 'SLOW_CONSUMER') return void this.response.destroy();
    const reason = { code, detail, afterStep: this.stream?.afterStep };
    this.response.end(`event: end\ndata: ${JSON.stringify(reason)}\n\n`);
  }

  fail(error: unknown): void {
    this.log.error({ event: 'runs.stream_failed', err: error });
    this.response.destroy();
  }

  onClosed(): void {
    this.stream?.close();
  }
}

function idOf(event: RunStreamEvent, lastStep: number): string {
  if (event.type === 'step') return `id: ${lastStep}\n`;
  return event.type === 'state' && isFinal(event.run.state) ? `id: ${lastStep}${LAST}\n` : '';
}
