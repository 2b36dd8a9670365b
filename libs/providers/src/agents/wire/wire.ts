import { z } from 'zod';
import { ProviderError } from '../../errors.js';
import { redactDeep } from '../../secret.js';
import type { AgentEvent, AgentMessage, AgentResult, AgentUsage, CallBudget, HandleOptions } from '../agent.js';

/** The JSON object that `http` and `subprocess` agents receive. */
export interface WireMessage {
  type: 'message';
  /** The id of this attempt. A subprocess puts it in each line of its answer. */
  id: string;
  /** The id of the call, which is the same for all its attempts. */
  callId?: string;
  text: string;
  data?: unknown;
  conversationId?: string;
  budget?: CallBudget;
}

/** An invalid count is treated as unknown, so that the answer is not lost. */
const Count = z.int().nonnegative().optional().catch(undefined);
const CountsSchema = z.object({
  inputTokens: Count,
  outputTokens: Count,
  cacheReadTokens: Count,
  cacheWriteTokens: Count,
  reasoningTokens: Count,
  costMicroUsd: Count,
});
const UsageSchema = z.unknown().optional().transform(readUsage);
/** Many languages write null for a missing value. */
const Text = z.string().nullish().transform(orUndefined);

const ResultSchema = z.object({
  type: z.literal('result').default('result'),
  text: Text,
  data: z.unknown().optional(),
  usage: UsageSchema,
  outcome: z
    .enum(['completed', 'input-required'])
    .nullish()
    .transform((outcome) => outcome ?? 'completed'),
  conversationId: Text,
});

const ErrorSchema = z.object({
  type: z.literal('error'),
  message: z.string(),
  retryable: z.boolean().nullish().transform(orUndefined),
  usage: UsageSchema,
});

const WireEventSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('progress'), text: z.string() }),
  z.object({ type: z.literal('tool-call'), id: z.string(), name: z.string(), input: z.unknown() }),
  ErrorSchema,
  ResultSchema.extend({ type: z.literal('result') }),
]);

export function toWire({ text, data }: AgentMessage, { conversationId, budget, callId }: HandleOptions): WireMessage {
  return { type: 'message', id: crypto.randomUUID(), callId, text, data, conversationId, budget };
}

/** Reads the usage that an agent reports; an invalid usage is treated as unknown. */
export function readUsage(value: unknown): AgentUsage {
  const parsed = CountsSchema.safeParse(value ?? {});
  if (!parsed.success) return {};
  return Object.fromEntries(Object.entries(parsed.data).filter(([, count]) => count !== undefined));
}

function orUndefined<Value>(value: Value): Exclude<Value, null> | undefined {
  return (value as Exclude<Value, null>) ?? undefined;
}

/**
 * Reads the answer of an agent. A result may omit the text if the agent has streamed it before. Unknown event types,
 * which a later version of the protocol may add, are ignored.
 */
export class WireReader {
  private streamedText = '';

  /** `redact` removes keys from the answer, because an agent may quote the key that it received. */
  constructor(
    private readonly label: string,
    private readonly redact: (text: string) => string = (text) => text,
  ) {}

  /** Reads one event of a stream. */
  read(value: unknown): AgentEvent | undefined {
    const parsed = WireEventSchema.safeParse(value);
    if (!parsed.success) return this.unknown(value, parsed.error);
    const event = parsed.data;
    if (event.type === 'error') throw this.failed(event);
    if (event.type === 'result') return this.finished(event);
    if (event.type === 'text') this.streamedText += event.text;
    return event;
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
      return redactDeep(JSON.parse(text), this.redact); // after parsing, because JSON may escape characters of the key
    } catch {
      throw this.unreadable(`not JSON: ${this.redact(text).slice(0, 100)}`);
    }
  }

  private finished({ text, data, usage, outcome, conversationId }: z.output<typeof ResultSchema>): AgentEvent {
    const result: AgentResult = { outcome, text: text ?? this.redact(this.streamedText), usage }; // a key may be split between two texts
    if (data !== undefined && data !== null) result.data = data;
    if (conversationId) result.conversationId = conversationId;
    return { type: 'finished', result };
  }

  private failed({ message, retryable, usage }: z.output<typeof ErrorSchema>): ProviderError {
    return new ProviderError('AGENT_FAILED', `${this.label} failed: ${message}`, { retryable, usage });
  }

  private unknown(value: unknown, error: z.ZodError): undefined {
    const { type } = (value ?? {}) as { type?: unknown };
    if (typeof type !== 'string' || KNOWN_TYPES.has(type)) throw this.unreadable(z.prettifyError(error));
  }

  private unreadable(why: string): ProviderError {
    return new ProviderError('AGENT_ANSWER_UNREADABLE', `${this.label} sent an invalid answer: ${why}`);
  }
}

const KNOWN_TYPES = new Set(['text', 'progress', 'tool-call', 'error', 'result']);
