import { EventSourceParserStream } from 'eventsource-parser/stream';
import type { Agent, AgentEvent, AgentMessage, AgentState, HandleOptions } from '../agent.js';
import { agentErrorOf, unreachable } from '../agent.status.js';
import { CallTracker } from '../call.tracker.js';
import { linesOf } from '../wire/lines.js';
import { toWire, WireReader, type WireMessage } from '../wire/wire.js';

export interface HttpAgentOptions {
  name: string;
  url: string;
  fetch: typeof fetch;
}

const ACCEPT = 'application/x-ndjson, text/event-stream, application/json';

/** An agent behind a plain JSON endpoint. It answers at once with a result, or in pieces as NDJSON or server-sent events. */
export class HttpAgent implements Agent {
  readonly name: string;
  readonly agentType = 'api';
  private readonly label: string;
  private readonly calls: CallTracker;

  constructor(private readonly options: HttpAgentOptions) {
    this.name = options.name;
    this.label = `Agent ${options.name}`;
    this.calls = new CallTracker(this.label);
  }

  get state(): AgentState {
    return this.calls.state;
  }

  handle(message: AgentMessage, options: HandleOptions = {}): AsyncIterable<AgentEvent> {
    return this.calls.run(options.signal, (signal) => this.converse(toWire(message, options), signal));
  }

  async shutdown(): Promise<void> {
    this.calls.close();
  }

  private async *converse(message: WireMessage, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    try {
      const response = await this.post(message, signal);
      const reader = new WireReader(this.label);
      const kind = response.headers.get('content-type') ?? '';
      if (/ndjson|jsonl/.test(kind)) yield* eventsOf(linesOf(bodyOf(response)), reader);
      else if (kind.startsWith('text/event-stream')) yield* eventsOf(framesOf(bodyOf(response)), reader);
      else yield reader.readWhole(reader.parse(await response.text()));
    } catch (error) {
      throw unreachable(error, this.label);
    }
  }

  private async post(message: WireMessage, signal: AbortSignal): Promise<Response> {
    const response = await this.options.fetch(this.options.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: ACCEPT, 'idempotency-key': message.callId ?? message.id },
      body: JSON.stringify(message),
      signal,
    });
    if (response.ok) return response;
    await response.body?.cancel();
    throw agentErrorOf(response, this.label);
  }
}

async function* eventsOf(texts: AsyncIterable<string>, reader: WireReader): AsyncGenerator<AgentEvent> {
  for await (const text of texts) {
    const event = reader.read(reader.parse(text));
    if (event) yield event;
  }
}

function bodyOf(response: Response): ReadableStream<Uint8Array> {
  return response.body ?? new ReadableStream({ start: (controller) => controller.close() });
}

async function* framesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const text = body.pipeThrough(new TextDecoderStream());
  for await (const { data } of text.pipeThrough(new EventSourceParserStream())) yield data;
}
