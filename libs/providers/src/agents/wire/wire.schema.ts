import { z } from 'zod';
import type { AgentUsage } from '../agent.js';
import type { ContentPart } from '../content.part.js';

const DEFAULT_MEDIA_TYPE = 'application/octet-stream';

/** Many languages write null for a missing value. */
const Optional = z
  .string()
  .nullish()
  .transform((value) => value ?? undefined);
const Bytes = z.string().transform((text, context) => {
  const bytes = bytesOf(text);
  if (bytes) return bytes.toString('base64');
  context.addIssue({ code: 'custom', message: 'not Base64' });
  return z.NEVER;
});

const FileSchema = z
  .object({
    type: z.literal('file'),
    bytes: Bytes.nullish(),
    url: z.url().nullish(),
    mediaType: Optional,
    name: Optional,
  })
  .transform(({ bytes, url, mediaType = DEFAULT_MEDIA_TYPE, name }, context): ContentPart => {
    const about = { mediaType, ...(name !== undefined && { name }) };
    if (typeof bytes === 'string') return { type: 'file', bytes, ...about };
    if (typeof url === 'string') return { type: 'file', url, ...about };
    context.addIssue({ code: 'custom', message: 'a file needs bytes or a url' });
    return z.NEVER;
  });

const DataSchema = z
  .object({ type: z.literal('data'), data: z.unknown(), mediaType: Optional })
  .transform(({ data, mediaType }): ContentPart => ({ type: 'data', data, ...(mediaType && { mediaType }) }));

/** A part as an agent sends it. An unknown type is an error, because the answer would be incomplete without the part. */
export const PartSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  DataSchema,
  FileSchema,
]);

export const ArtifactSchema = z
  .object({
    id: z.string(),
    name: Optional,
    parts: z.array(PartSchema),
    append: z.boolean().nullish(),
    last: z.boolean().nullish(),
  })
  .transform(({ id, name, parts, append, last }) => ({
    id,
    ...(name !== undefined && { name }),
    parts,
    append: append ?? false,
    last: last ?? false,
  }));

/**
 * Reads Base64 in both alphabets, with or without padding. Node ignores characters that are not Base64, so an
 * invalid text has fewer bytes than expected. A regular expression would take much longer for a large file.
 */
function bytesOf(text: string): Buffer | undefined {
  const length = text.length - (text.endsWith('==') ? 2 : Number(text.endsWith('=')));
  const bytes = Buffer.from(text, 'base64');
  const isComplete = length % 4 !== 1 && bytes.length === Math.floor((length * 3) / 4);
  return isComplete ? bytes : undefined;
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

/** A tool call. A subprocess sends no id for it, because `id` in its events is the id of the message. */
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
