import { z } from 'zod';
import { ProviderError } from '../../errors.js';
import { addUsage, type ModelUsage } from '../../models/usage.js';
import type { AgentEvent, AgentUsage } from '../agent.js';

/** The parts of the Claude Agent SDK's messages that are read here. */

const ModelUsageSchema = z.object({
  inputTokens: z.number(),
  outputTokens: z.number(),
  cacheReadInputTokens: z.number(),
  cacheCreationInputTokens: z.number(),
  thinkingTokens: z.number().optional(),
  costUSD: z.number(),
});

const BlockSchema = z.union([
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('tool_use'), id: z.string(), name: z.string(), input: z.unknown() }),
  z.object({ type: z.string() }).transform(() => undefined),
]);

const SdkMessageSchema = z.union([
  z.object({
    type: z.literal('assistant'),
    message: z.object({ content: z.array(BlockSchema) }),
    parent_tool_use_id: z.string().nullish(),
  }),
  z.object({
    type: z.literal('result'),
    subtype: z.string(),
    is_error: z.boolean(),
    result: z.string().default(''),
    errors: z.array(z.string()).default([]),
    modelUsage: z.record(z.string(), ModelUsageSchema).default({}),
  }),
  z.object({ type: z.string() }).transform(() => undefined),
]);

type ResultMessage = Extract<z.output<typeof SdkMessageSchema>, { type: 'result' }>;

/** How to call the agent in errors, and what takes its key out of them. */
interface SdkFacts {
  label: string;
  hide(text: string): string;
}

const MICRO_PER_DOLLAR = 1_000_000;

export function* readSdkMessage(value: unknown, facts: SdkFacts): Generator<AgentEvent> {
  const parsed = SdkMessageSchema.safeParse(value);
  if (!parsed.success)
    throw new ProviderError('AGENT_ANSWER_UNREADABLE', `${facts.label} sent something that cannot be read.`);
  const message = parsed.data;
  if (message?.type === 'result') return yield finished(message, facts);
  if (message?.type !== 'assistant' || message.parent_tool_use_id) return; // what its own subagents say is their affair
  for (const block of message.message.content) {
    if (block?.type === 'text') yield { type: 'text', text: block.text };
    if (block?.type === 'tool_use') yield { type: 'tool-call', id: block.id, name: block.name, input: block.input };
  }
}

function finished(message: ResultMessage, { label, hide }: SdkFacts): AgentEvent {
  const { subtype, is_error, result, errors, modelUsage } = message;
  const usage = toUsage(modelUsage);
  if (subtype === 'success' && !is_error)
    return { type: 'finished', result: { outcome: 'completed', text: result, usage } };
  const why = hide(errors.join('; ') || result || subtype);
  throw new ProviderError('AGENT_FAILED', `${label} failed (${subtype}): ${why.slice(0, 500)}`, { usage });
}

/** From `modelUsage`, since `usage` leaves out subagents. Its input excludes what a cache served; ours includes it. */
function toUsage(modelUsage: ResultMessage['modelUsage']): AgentUsage {
  const byModel = Object.fromEntries(Object.entries(modelUsage).map(([model, one]) => [model, toModelUsage(one)]));
  const [first, ...others] = Object.values(byModel);
  if (!first) return {};
  const costMicroUsd = Object.values(byModel).reduce((sum, one) => sum + one.costMicroUsd, 0);
  return { ...others.reduce<ModelUsage>(addUsage, first), costMicroUsd, byModel };
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
