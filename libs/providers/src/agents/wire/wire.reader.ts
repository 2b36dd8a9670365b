import { z } from 'zod';
import { ProviderError } from '../../errors.js';
import { redactDeep } from '../../secrets/secret.js';
import type { AgentEvent, AgentOutcome, ArtifactChunk } from '../agent.js';
import { ArtifactParts } from '../artifact.parts.js';
import { type ContentPart, type Redact, redactParts, textPart } from '../content.part.js';
import {
  ErrorSchema,
  KNOWN_TYPES,
  ResultSchema,
  type WireError,
  WireEventSchema,
  type WireResult,
} from './wire.schema.js';

/** How much of an unreadable answer the log contains. */
const MAX_LOGGED_CHARS = 500;

/**
 * Reads the answer of an agent. A result may omit the text if the agent has streamed it before. Unknown event types,
 * which a later version of the protocol may add, are ignored.
 */
export class WireReader {
  private streamedText = '';
  private readonly artifacts = new ArtifactParts();

  /** `redact` removes keys from the answer, because an agent may quote the key that it received. */
  constructor(
    private readonly label: string,
    private readonly redact: Redact = (text) => text,
  ) {}

  /** Reads one event of a stream. */
  read(value: unknown): AgentEvent | undefined {
    const parsed = WireEventSchema.safeParse(value);
    if (!parsed.success) return this.unknown(value, parsed.error);
    const event = parsed.data;
    if (event.type === 'error') throw this.failed(event);
    if (event.type === 'result') return this.finished(event);
    if (event.type === 'artifact') return this.artifact(event.artifact);
    if (event.type === 'text') this.streamedText += event.text;
    return redactDeep(event, this.redact) as typeof event;
  }

  /** Reads an answer that is not streamed: an error, or a result, which may omit its type. */
  readWhole(value: unknown): AgentEvent {
    const error = ErrorSchema.safeParse(value);
    if (error.success) throw this.failed(error.data);
    const parsed = ResultSchema.safeParse(value);
    if (!parsed.success) throw this.unreadable(z.prettifyError(parsed.error));
    return this.finished(parsed.data);
  }

  parse(text: string): unknown {
    try {
      return JSON.parse(text);
    } catch {
      throw this.unreadable('it is not JSON', this.redact(text).slice(0, MAX_LOGGED_CHARS));
    }
  }

  private artifact({ parts, ...chunk }: ArtifactChunk): AgentEvent {
    this.artifacts.apply({ parts, ...chunk });
    const about = redactDeep(chunk, this.redact) as typeof chunk;
    return { type: 'artifact', artifact: { ...about, parts: redactParts(parts, this.redact) } };
  }

  private finished(result: WireResult): AgentEvent {
    const { usage, conversationId } = result;
    const parts = redactParts([...this.answerOf(result), ...this.artifacts.parts], this.redact);
    const about = redactDeep({ ...(conversationId && { conversationId }), ...outcomeOf(result) }, this.redact);
    return { type: 'finished', result: { ...(about as AgentOutcome), parts, usage } };
  }

  /** Agents that do not send parts send `text` and `data`. If an agent sends both, `parts` may repeat them. */
  private answerOf({ text = this.streamedText, data, parts }: WireResult): ContentPart[] {
    const answer: ContentPart[] = [];
    const has = (type: ContentPart['type']): boolean => parts.some((part) => part.type === type);
    if (text !== '' && !has('text')) answer.push(textPart(text));
    if (data !== undefined && data !== null && !has('data')) answer.push({ type: 'data', data });
    return [...answer, ...parts];
  }

  private failed({ message, retryable, usage }: WireError): ProviderError {
    return new ProviderError('AGENT_FAILED', `${this.label} failed: ${this.redact(message)}`, { retryable, usage });
  }

  private unknown(value: unknown, error: z.ZodError): undefined {
    const { type } = (value ?? {}) as { type?: unknown };
    if (typeof type !== 'string' || KNOWN_TYPES.has(type)) throw this.unreadable(z.prettifyError(error));
  }

  private unreadable(why: string, logDetail?: string): ProviderError {
    const message = `${this.label} sent an invalid answer: ${this.redact(why)}`;
    return new ProviderError('AGENT_ANSWER_UNREADABLE', message, { logDetail });
  }
}

function outcomeOf({ outcome, reason = 'unknown', detail = '' }: WireResult): AgentOutcome {
  return outcome === 'stopped' ? { outcome, reason, detail } : { outcome };
}
