import { z } from 'zod';
import { ProviderError } from '../../errors.js';
import { hideDeep } from '../../secret.js';
import { addUsage, type ModelUsage } from '../../models/usage.js';
import type { AgentEvent, AgentUsage } from '../agent.js';
import { agentErrorOfStatus } from '../agent.status.js';

/** The parts of the Claude Agent SDK's messages that are read here. */

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
  /** Set when the text is not the model's, but says why there is none. */
  error: z.string().nullish(),
});

const ResultSchema = z.object({
  subtype: z.string(),
  is_error: z.boolean(),
  result: z.string().default(''),
  errors: z.array(z.string()).default([]),
  /** What the vendor answered last, if it was an error. */
  api_error_status: z.int().nullish(),
  modelUsage: z.record(z.string(), ModelUsageSchema).default({}),
});

type ResultMessage = z.output<typeof ResultSchema>;

/** How to call the agent in errors, and what takes its key out of whatever it says. */
interface SdkFacts {
  label: string;
  hide(text: string): string;
}

const MICRO_PER_DOLLAR = 1_000_000;
const LONGEST_REASON = 500;
/** The ends that come from limits we have set. */
const LIMITS = new Set(['error_max_turns', 'error_max_budget_usd']);

/** What a message of the SDK means to a caller. Kinds that mean nothing, or that are not known yet, are passed over. */
export function* readSdkMessage(value: unknown, facts: SdkFacts): Generator<AgentEvent> {
  const { type } = (value ?? {}) as { type?: unknown };
  if (type === 'result') return yield finished(read(ResultSchema, value, facts), facts);
  if (type === 'assistant') yield* said(read(AssistantSchema, value, facts), facts);
}

function* said(spoken: z.output<typeof AssistantSchema>, { hide }: SdkFacts): Generator<AgentEvent> {
  const { message, parent_tool_use_id: parent, error } = spoken;
  if (parent || error) return; // what its own subagents say is their affair; an error comes again in the result
  for (const block of message.content) {
    if (block?.type === 'text') yield { type: 'text', text: hide(block.text) };
    if (block?.type !== 'tool_use') continue;
    const { id, name, input } = block;
    yield { type: 'tool-call', id, name, input: hideDeep(input, hide) };
  }
}

function read<Schema extends z.ZodType>(schema: Schema, value: unknown, { label }: SdkFacts): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const faults = z.prettifyError(parsed.error);
  throw new ProviderError('AGENT_ANSWER_UNREADABLE', `${label} sent something that cannot be read: ${faults}`);
}

function finished(message: ResultMessage, facts: SdkFacts): AgentEvent {
  const { subtype, is_error, result, modelUsage } = message;
  if (subtype !== 'success' || is_error) throw failed(message, facts);
  return {
    type: 'finished',
    result: { outcome: 'completed', text: facts.hide(result), usage: toUsage(modelUsage) },
  };
}

function failed(message: ResultMessage, { label, hide }: SdkFacts): ProviderError {
  const { subtype, result, errors, modelUsage, api_error_status: status } = message;
  const why = hide(errors.join('; ') || result || subtype).slice(0, LONGEST_REASON);
  const usage = toUsage(modelUsage);
  if (LIMITS.has(subtype)) return new ProviderError('AGENT_LIMIT_REACHED', `${label} stopped: ${why}`, { usage });
  const text = `${label} failed (${subtype}): ${why}`;
  return status ? agentErrorOfStatus(status, text, { usage }) : new ProviderError('AGENT_FAILED', text, { usage });
}

/** From `modelUsage`, since `usage` leaves out subagents. Its input excludes what a cache served; ours includes it. */
function toUsage(modelUsage: ResultMessage['modelUsage']): AgentUsage {
  const byModel = Object.fromEntries(Object.entries(modelUsage).map(([model, one]) => [model, toModelUsage(one)]));
  const [first, ...others] = Object.values(byModel);
  if (!first) return {};
  const { costMicroUsd: _cost, ...counts } = first;
  const costMicroUsd = Object.values(byModel).reduce((sum, one) => sum + one.costMicroUsd, 0);
  return { ...others.reduce<ModelUsage>(addUsage, counts), costMicroUsd, byModel };
}

function toModelUsage(one: z.output<typeof ModelUsageSchema>): ModelUsage & { costMicroUsd: number } {
  return {
    inputTokens: one.inputTokens + one.cacheReadInputTokens + one.cacheCreationInputTokens,
    outputTokens: one.outputTokens,
    cacheReadTokens: one.cacheReadInputTokens,
    cacheWriteTokens: one.cacheCreationInputTokens,
    ...(one.thinkingTokens !== undefined && { reasoningTokens: one.thinkingTokens }),
    costMicroUsd: Math.round(one.costUSD * MICRO_PER_DOLLAR),
  };
}
