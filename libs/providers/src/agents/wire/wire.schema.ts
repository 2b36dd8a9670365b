import { z } from 'zod';
import type { AgentUsage } from '../agent.js';
import { ArtifactSchema, PartSchema } from './part.schema.js';

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

export const ResultSchema = z.object({
  type: z.literal('result').default('result'),
  text: Text,
  data: z.unknown().optional(),
  parts: z
    .array(PartSchema)
    .nullish()
    .transform((parts) => parts ?? []),
  usage: UsageSchema,
  outcome: z
    .enum(['completed', 'input-required', 'refused', 'stopped'])
    .nullish()
    .transform((outcome) => outcome ?? 'completed'),
  /** The limit that stopped the agent, and an explanation for humans. */
  reason: Text,
  detail: Text,
  conversationId: Text,
});

export const ErrorSchema = z.object({
  type: z.literal('error'),
  message: z.string(),
  retryable: z.boolean().nullish().transform(orUndefined),
  usage: UsageSchema,
});

/** In the events of a subprocess, `id` is the id of the message, so its tool calls have none. */
const ToolCallSchema = z.object({
  type: z.literal('tool-call'),
  id: z
    .string()
    .nullish()
    .transform((id) => id ?? crypto.randomUUID()),
  name: z.string(),
  input: z.unknown(),
});

export const WireEventSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('progress'), text: z.string() }),
  ToolCallSchema,
  z.object({ type: z.literal('artifact'), artifact: ArtifactSchema }),
  ErrorSchema,
  ResultSchema.extend({ type: z.literal('result') }),
]);

export const KNOWN_TYPES: ReadonlySet<string> = new Set([
  'text',
  'progress',
  'tool-call',
  'artifact',
  'error',
  'result',
]);

export type WireResult = z.output<typeof ResultSchema>;
export type WireError = z.output<typeof ErrorSchema>;

/** Reads the usage that an agent reports; an invalid usage is treated as unknown. */
export function readUsage(value: unknown): AgentUsage {
  const parsed = CountsSchema.safeParse(value ?? {});
  if (!parsed.success) return {};
  return Object.fromEntries(Object.entries(parsed.data).filter(([, count]) => count !== undefined));
}

function orUndefined<Value>(value: Value): Exclude<Value, null> | undefined {
  return (value as Exclude<Value, null>) ?? undefined;
}
