import { z } from 'zod';
import { ProviderError } from '../../errors.js';
import { redactDeep } from '../../secret.js';
import { addUsage, type ModelUsage } from '../../models/usage.js';
import type { AgentEvent, AgentUsage } from '../agent.js';
import { agentErrorOfStatus } from '../agent.status.js';

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

const MICRO_PER_DOLLAR = 1_000_000;
const MAX_REASON_LENGTH = 500;
/** The results that are caused by our own limits. */
const LIMITS = new Set(['error_max_turns', 'error_max_budget_usd']);

/** Converts a message of the SDK to events. Messages of other or unknown types are ignored. */
export function* readSdkMessage(value: unknown, context: ReadContext): Generator<AgentEvent> {
  const { type } = (value ?? {}) as { type?: unknown };
  if (type === 'result') return yield finished(read(ResultSchema, value, context), context);
  if (type === 'assistant') yield* textAndTools(read(AssistantSchema, value, context), context);
}

function* textAndTools(assistant: z.output<typeof AssistantSchema>, { redact }: ReadContext): Generator<AgentEvent> {
  const { message, parent_tool_use_id: parent, error } = assistant;
  if (parent || error) return; // texts of subagents are not part of the answer, and the result message repeats an error
  for (const block of message.content) {
    if (block?.type === 'text') yield { type: 'text', text: redact(block.text) };
    if (block?.type !== 'tool_use') continue;
    const { id, name, input } = block;
    yield { type: 'tool-call', id, name, input: redactDeep(input, redact) };
  }
}

function read<Schema extends z.ZodType>(schema: Schema, value: unknown, { label }: ReadContext): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = z.prettifyError(parsed.error);
  throw new ProviderError('AGENT_ANSWER_UNREADABLE', `${label} sent an invalid message: ${problems}`);
}

function finished(message: ResultMessage, context: ReadContext): AgentEvent {
  const { subtype, is_error, result, modelUsage } = message;
  if (subtype !== 'success' || is_error) throw failed(message, context);
  return {
    type: 'finished',
    result: { outcome: 'completed', text: context.redact(result), usage: toUsage(modelUsage) },
  };
}

function failed(message: ResultMessage, { label, redact }: ReadContext): ProviderError {
  const { subtype, result, errors, modelUsage, api_error_status: status } = message;
  const why = redact(errors.join('; ') || result || subtype).slice(0, MAX_REASON_LENGTH);
  const usage = toUsage(modelUsage);
  if (LIMITS.has(subtype)) return new ProviderError('AGENT_LIMIT_REACHED', `${label} stopped: ${why}`, { usage });
  const text = `${label} failed (${subtype}): ${why}`;
  return status ? agentErrorOfStatus(status, text, { usage }) : new ProviderError('AGENT_FAILED', text, { usage });
}

/** Uses `modelUsage`, because `usage` does not include subagents. Its input tokens do not include cached tokens; ours do. */
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
    costMicroUsd: Math.round(usage.costUSD * MICRO_PER_DOLLAR),
  };
}
