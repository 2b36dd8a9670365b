import { setTimeout as delay } from 'node:timers/promises';
import { EventSourceParserStream, ParseError } from 'eventsource-parser/stream';
import { z } from 'zod';
import { traceHeaders } from '../../egress/trace.headers.js';
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
import { CALL_TOKEN_HEADER, type SignCall, signWith } from '../call.token.js';
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
    const { policy, secrets, signer } = this.options;
    const sign = signWith(signer);
    policy.checkUrl(url); // rejects a forbidden address now, not at the first call
    if (!credential) return new HttpAgent({ name: config.name, url, fetch: this.options.fetch, sign });
    const authorized = withCredential(this.options.fetch, { url, settings: credential, secrets });
    return new HttpAgent({
      name: config.name,
      url,
      fetch: authorized.fetch,
      sign,
      redact: (text) => authorized.secret.redactIn(text),
    });
  }
}

interface HttpAgentOptions {
  name: string;
  url: string;
  fetch: typeof fetch;
  sign: SignCall;
  /** Removes the key from texts of the agent. */
  redact?: (text: string) => string;
}

/** The status with which an agent answers a repeated request while it still works on the first one. */
const IN_PROGRESS = 409;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 2_000;

function longer(pauseMs: number): number {
  return Math.min(pauseMs * 2, MAX_PAUSE_MS);
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
    const wire = toWire(message, options);
    const token = await this.options.sign(options);
    const attempt = { ...wire, id: wire.callId ?? wire.id };
    let response = await this.post(attempt, token, signal);
    for (let pause = FIRST_PAUSE_MS; options.isRepeated && response.status === IN_PROGRESS; pause = longer(pause)) {
      await response.body?.cancel();
      await delay(pause, undefined, { signal });
      response = await this.post(attempt, await this.options.sign(options), signal);
    }
    if (!response.ok) {
      await response.body?.cancel();
      throw agentErrorOf(response, this.label);
    }
    const reader = new WireReader(this.label, this.options.redact);
    const kind = (response.headers.get('content-type') ?? '').toLowerCase();
    if (/ndjson|jsonl/.test(kind)) yield* eventsOf(linesOf(bodyOf(response)), reader);
    else if (kind.startsWith('text/event-stream')) yield* eventsOf(framesOf(bodyOf(response)), reader);
    else yield reader.readWhole(reader.parse(await response.text()));
  }

  /** All attempts of a call have the same id and the same idempotency key, so that the agent can recognise a repetition. */
  private async post(message: WireMessage, token: string | undefined, signal: AbortSignal): Promise<Response> {
    return await this.options.fetch(this.options.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: ACCEPT,
        'idempotency-key': headerOf(message),
        ...traceHeaders(),
        ...(token !== undefined && { [CALL_TOKEN_HEADER]: token }),
      },
      body: JSON.stringify(message),
      signal,
    });
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
