import { z } from 'zod';
import { ProviderError } from '../../errors.js';
import { addUsage, type ModelUsage } from '../../models/model.provider.js';
import { toMicroDollars } from '../../presets/prices.js';
import { redactDeep } from '../../secrets/secret.js';
import { agentErrorOfStatus } from '../agent.errors.js';
import type { AgentEvent, AgentUsage } from '../agent.js';
import { type ContentPart, textPart } from '../content.part.js';

/** The schemas contain only the fields of the SDK messages that are used here. */

const Count = z.int().nonnegative();
const ModelUsageSchema = z.object({
  inputTokens: Count,
  outputTokens: Count,
  cacheReadInputTokens: Count,
  cacheCreationInputTokens: Count,
  thinkingTokens: Count.optional(),
  costUSD: z.number().nonnegative(),
});

const BlockSchema = z.union([
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('tool_use'), id: z.string(), name: z.string(), input: z.unknown() }),
  z.object({ type: z.string() }).transform(() => undefined),
]);

const AssistantSchema = z.object({
  message: z.object({ content: z.array(BlockSchema) }),
  parent_tool_use_id: z.string().nullish(),
  /** If it is set, the text is an error message and not an answer of the model. */
  error: z.string().nullish(),
});

const ResultSchema = z.object({
  subtype: z.string(),
  is_error: z.boolean(),
  result: z.string().default(''),
  errors: z.array(z.string()).default([]),
  /** The HTTP status of the last answer of the vendor, if it was an error. */
  api_error_status: z.int().nullish(),
  modelUsage: z.record(z.string(), ModelUsageSchema).default({}),
});

type ResultMessage = z.output<typeof ResultSchema>;

/** The name of the agent for error messages, and a function that removes its key from texts. */
interface ReadContext {
  label: string;
  redact(text: string): string;
}

const MAX_REASON_LENGTH = 500;
/** The subtypes of results that our own limits cause, with the reason for the outcome `stopped`. */
const LIMITS = new Map([
  ['error_max_turns', 'iterations'],
  ['error_max_budget_usd', 'budget'],
]);

/** Converts the messages of one call to events. Messages of other or unknown types are ignored. */
export class SdkMessageReader {
  /** The text of the answer so far. A result with an error does not contain it. */
  private text = '';

  constructor(private readonly context: ReadContext) {}

  *read(value: unknown): Generator<AgentEvent> {
    const { type } = (value ?? {}) as { type?: unknown };
    if (type === 'result') return yield this.finished(read(ResultSchema, value, this.context));
    if (type === 'assistant') yield* this.textAndTools(read(AssistantSchema, value, this.context));
  }

  private *textAndTools(assistant: z.output<typeof AssistantSchema>): Generator<AgentEvent> {
    const { redact } = this.context;
    const { message, parent_tool_use_id: parent, error } = assistant;
    if (parent || error) return; // texts of subagents are not part of the answer, and the result message repeats an error
    for (const block of message.content) {
      if (block?.type === 'text') this.text += block.text;
      if (block?.type === 'text') yield { type: 'text', text: redact(block.text) };
      if (block?.type !== 'tool_use') continue;
      const { id, name, input } = block;
      yield { type: 'tool-call', id, name, input: redactDeep(input, redact) };
    }
  }

  private finished(message: ResultMessage): AgentEvent {
    const { subtype, is_error, result } = message;
    const reason = LIMITS.get(subtype);
    if (!reason && (subtype !== 'success' || is_error)) throw failed(message, this.context);
    const usage = toUsage(message.modelUsage);
    if (!reason) return { type: 'finished', result: { outcome: 'completed', parts: this.partsOf(result), usage } };
    const detail = reasonText(message, this.context);
    return { type: 'finished', result: { outcome: 'stopped', reason, detail, parts: this.partsOf(this.text), usage } };
  }

  private partsOf(text: string): ContentPart[] {
    return text === '' ? [] : [textPart(this.context.redact(text))];
  }
}

function read<Schema extends z.ZodType>(schema: Schema, value: unknown, { label }: ReadContext): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = z.prettifyError(parsed.error);
  throw new ProviderError('AGENT_ANSWER_UNREADABLE', `${label} sent an invalid message: ${problems}`);
}

function failed(message: ResultMessage, context: ReadContext): ProviderError {
  const { subtype, modelUsage, api_error_status: status } = message;
  const usage = toUsage(modelUsage);
  const text = `${context.label} failed (${subtype}): ${reasonText(message, context)}`;
  return status ? agentErrorOfStatus(status, text, { usage }) : new ProviderError('AGENT_FAILED', text, { usage });
}

function reasonText({ subtype, result, errors }: ResultMessage, { redact }: ReadContext): string {
  return redact(errors.join('; ') || result || subtype).slice(0, MAX_REASON_LENGTH);
}

/** Uses `modelUsage`, because `usage` does not include subagents. `inputTokens` of the SDK does not include cached tokens; ours does. */
function toUsage(modelUsage: ResultMessage['modelUsage']): AgentUsage {
  const byModel = Object.fromEntries(Object.entries(modelUsage).map(([model, one]) => [model, toModelUsage(one)]));
  const [first, ...others] = Object.values(byModel);
  if (!first) return {};
  const { costMicroUsd: _cost, ...counts } = first;
  const costMicroUsd = Object.values(byModel).reduce((sum, one) => sum + one.costMicroUsd, 0);
  return { ...others.reduce<ModelUsage>(addUsage, counts), costMicroUsd, byModel };
}

function toModelUsage(usage: z.output<typeof ModelUsageSchema>): ModelUsage & { costMicroUsd: number } {
  return {
    inputTokens: usage.inputTokens + usage.cacheReadInputTokens + usage.cacheCreationInputTokens,
    outputTokens: usage.outputTokens,
    cacheReadTokens: usage.cacheReadInputTokens,
    cacheWriteTokens: usage.cacheCreationInputTokens,
    ...(usage.thinkingTokens !== undefined && { reasoningTokens: usage.thinkingTokens }),
    costMicroUsd: toMicroDollars(usage.costUSD),
  };
}
