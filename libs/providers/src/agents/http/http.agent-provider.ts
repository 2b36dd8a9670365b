import { EventSourceParserStream, ParseError } from 'eventsource-parser/stream';
import { z } from 'zod';
import { ProviderError } from '../../errors.js';
import { CredentialSchema, withCredential } from '../../secrets/credential.js';
import { agentErrorOf } from '../agent.errors.js';
import type { Agent, AgentEvent, AgentMessage, HandleOptions } from '../agent.js';
import {
  type AgentConfig,
  type AgentProvider,
  type OutboundOptions,
  type ProviderDescription,
  readSettings,
  settingsView,
} from '../agent.provider.js';
import { TrackedAgent } from '../tracked.agent.js';
import { linesOf, MAX_LINE_LENGTH } from '../wire/lines.js';
import { toWire, type WireMessage } from '../wire/wire.message.js';
import { WireReader } from '../wire/wire.reader.js';

const SettingsSchema = z.strictObject({ url: z.url(), credential: CredentialSchema.optional() });

/** Creates agents with a plain JSON endpoint. docs/providers.md describes the protocol. */
export class HttpAgentProvider implements AgentProvider {
  readonly name = 'http';
  readonly agentType = 'api';
  readonly settingsSchema = SettingsSchema;

  constructor(private readonly options: OutboundOptions) {}

  describe(): ProviderDescription {
    return { about: 'Agents with a plain JSON endpoint', settings: settingsView(SettingsSchema) };
  }

  async createAgent(config: AgentConfig): Promise<Agent> {
    const { url, credential } = readSettings(SettingsSchema, config, this.name);
    const { policy, secrets } = this.options;
    policy.checkUrl(url); // rejects a forbidden address now, not at the first call
    if (!credential) return new HttpAgent({ name: config.name, url, fetch: this.options.fetch });
    const authorized = withCredential(this.options.fetch, { url, settings: credential, secrets });
    return new HttpAgent({
      name: config.name,
      url,
      fetch: authorized.fetch,
      redact: (text) => authorized.secret.redactIn(text),
    });
  }
}

interface HttpAgentOptions {
  name: string;
  url: string;
  fetch: typeof fetch;
  /** Removes the key from texts of the agent. */
  redact?: (text: string) => string;
}

const ACCEPT = 'application/x-ndjson, text/event-stream, application/json';

/** An agent with a plain JSON endpoint. It answers with one result, or with a stream of NDJSON or server-sent events. */
class HttpAgent extends TrackedAgent {
  readonly agentType = 'api';

  constructor(private readonly options: HttpAgentOptions) {
    super(options.name);
  }

  protected async *respond(
    message: AgentMessage,
    signal: AbortSignal,
    options: HandleOptions,
  ): AsyncGenerator<AgentEvent> {
    const response = await this.post(toWire(message, options), signal);
    const reader = new WireReader(this.label, this.options.redact);
    const kind = (response.headers.get('content-type') ?? '').toLowerCase();
    if (/ndjson|jsonl/.test(kind)) yield* eventsOf(linesOf(bodyOf(response)), reader);
    else if (kind.startsWith('text/event-stream')) yield* eventsOf(framesOf(bodyOf(response)), reader);
    else yield reader.readWhole(reader.parse(await response.text()));
  }

  private async post(message: WireMessage, signal: AbortSignal): Promise<Response> {
    const response = await this.options.fetch(this.options.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: ACCEPT, 'idempotency-key': headerOf(message) },
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
  const frames = text.pipeThrough(new EventSourceParserStream({ maxBufferSize: MAX_LINE_LENGTH }));
  try {
    for await (const { data } of frames) yield data;
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    throw new ProviderError('AGENT_ANSWER_UNREADABLE', `An event is longer than ${MAX_LINE_LENGTH} characters.`);
  }
}

/** A call id may contain characters that are not allowed in a header, so it is encoded. */
function headerOf({ callId, id }: WireMessage): string {
  return encodeURIComponent((callId ?? id).toWellFormed());
}
