import { z } from 'zod';
import { ProviderError } from '../../errors.js';
import { hideDeep } from '../../secret.js';
import type { AgentBudget, AgentEvent, AgentMessage, AgentResult, AgentUsage, HandleOptions } from '../agent.js';

/** What `http` and `subprocess` agents are sent: one JSON object. */
export interface WireMessage {
  type: 'message';
  /** Of this attempt; answers on a shared line carry it. */
  id: string;
  /** Of all attempts at the same call. */
  callId?: string;
  text: string;
  data?: unknown;
  conversationId?: string;
  budget?: AgentBudget;
}

/** What is no count is not known, and no reason to lose an answer. */
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
/** Many languages write null for what is not there. */
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

/** A usage as others state it, or nothing where they state something else. */
export function readUsage(value: unknown): AgentUsage {
  const parsed = CountsSchema.safeParse(value ?? {});
  if (!parsed.success) return {};
  return Object.fromEntries(Object.entries(parsed.data).filter(([, count]) => count !== undefined));
}

function orUndefined<Value>(value: Value): Exclude<Value, null> | undefined {
  return (value as Exclude<Value, null>) ?? undefined;
}

/**
 * Reads what an agent says, one value after the other. The text of a result may be left out when it was sent in pieces.
 * Event types of a later version of this wire are passed over.
 */
export class WireReader {
  private said = '';

  /** `hide` takes keys out of whatever is read: the other side may quote the one it was sent. */
  constructor(
    private readonly label: string,
    private readonly hide: (text: string) => string = (text) => text,
  ) {}

  /** One event of a stream. */
  read(value: unknown): AgentEvent | undefined {
    const parsed = WireEventSchema.safeParse(value);
    if (!parsed.success) return this.unknown(value, parsed.error);
    const event = parsed.data;
    if (event.type === 'error') throw this.failed(event);
    if (event.type === 'result') return this.finished(event);
    if (event.type === 'text') this.said += event.text;
    return event;
  }

  /** A whole answer: a result, or an error, that need not name its type. */
  readWhole(value: unknown): AgentEvent {
    const error = ErrorSchema.safeParse(value);
    if (error.success) throw this.failed(error.data);
    const parsed = ResultSchema.safeParse(value);
    if (!parsed.success) throw this.unreadable(z.prettifyError(parsed.error));
    return this.finished(parsed.data);
  }

  parse(text: string): unknown {
    try {
      return hideDeep(JSON.parse(text), this.hide); // in what it says, not in how it is written
    } catch {
      throw this.unreadable(`not JSON: ${this.hide(text).slice(0, 100)}`);
    }
  }

  private finished({ text, data, usage, outcome, conversationId }: z.output<typeof ResultSchema>): AgentEvent {
    const result: AgentResult = { outcome, text: text ?? this.hide(this.said), usage }; // a key may come in two pieces
    if (data !== undefined && data !== null) result.data = data;
    if (conversationId) result.conversationId = conversationId;
    return { type: 'finished', result };
  }

  private failed({ message, retryable, usage }: z.output<typeof ErrorSchema>): ProviderError {
    return new ProviderError('AGENT_FAILED', `${this.label} failed: ${message}`, { retryable, usage });
  }

  private unknown(value: unknown, error: z.ZodError): undefined {
    const { type } = (value ?? {}) as { type?: unknown };
    if (typeof type !== 'string' || KNOWN.has(type)) throw this.unreadable(z.prettifyError(error));
  }

  private unreadable(why: string): ProviderError {
    return new ProviderError('AGENT_ANSWER_UNREADABLE', `${this.label} sent something that cannot be read: ${why}`);
  }
}

const KNOWN = new Set(['text', 'progress', 'tool-call', 'error', 'result']);
