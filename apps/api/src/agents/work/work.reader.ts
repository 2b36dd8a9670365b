import { z } from 'zod';
import type { TaskProgress, TaskReport } from '#rollcall/agent-runtime';
import { type ContentPart, PartSchema, readUsage, textPart } from '#rollcall/providers';
import { schemaFailed } from '../../http/validation/validation.errors.js';

const MAX_TASKS = 100;
/** More tasks at once than any agent executes. An agent must be able to state all of them in one frame. */
export const MAX_SLOTS = 200;
const MAX_NAME = 256;
const MAX_DETAIL = 4_000;
const MAX_PARTS = 1_000;
const MAX_PROGRESS = 16_000;
export const RESULT_OUTCOMES = ['completed', 'input-required', 'refused', 'stopped', 'failed'] as const;

const Generation = z.int().min(1);
const Holding = z.array(z.string().min(1).max(MAX_NAME)).max(MAX_SLOTS).optional();
const Parts = z.array(PartSchema).max(MAX_PARTS);
const Name = z.string().min(1).max(MAX_NAME);
/** Many languages write null for a missing value. */
const orAbsent = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? undefined);

const Take = z.strictObject({
  generation: Generation,
  max: z.int().min(1).max(MAX_TASKS).default(1),
  waitMs: z.int().min(0).max(50_000).default(0),
  holding: Holding,
});
const Work = z.strictObject({ slots: z.int().min(0).max(MAX_SLOTS), holding: Holding });

const Progress = z
  .strictObject({
    text: orAbsent(z.string().min(1).max(MAX_PROGRESS)),
    progress: orAbsent(z.string().min(1).max(MAX_PROGRESS)),
  })
  .refine(({ text, progress }) => (text === undefined) !== (progress === undefined), {
    message: 'send either text, which is a piece of the answer, or progress, which says what the agent does',
  });

const Artifact = z.strictObject({ id: Name, name: orAbsent(Name), parts: Parts });
const Result = z.strictObject({
  outcome: z.enum(RESULT_OUTCOMES).default('completed'),
  text: orAbsent(z.string()),
  data: z.unknown().optional(),
  parts: orAbsent(Parts),
  artifacts: orAbsent(z.array(Artifact).max(MAX_PARTS)),
  usage: z.unknown().optional().transform(readUsage),
  reason: orAbsent(Name),
  detail: orAbsent(z.string().max(MAX_DETAIL)),
  conversationId: orAbsent(Name),
});

/** Adds the generation, which requests have and frames of a socket do not need. */
const ProgressRequest = z.object({ generation: Generation }).loose();

export type TakeInput = z.output<typeof Take>;
export type WorkInput = z.output<typeof Work>;

export function readTake(body: unknown): TakeInput {
  return read(Take, body);
}

export function readWork(data: unknown): WorkInput {
  return read(Work, data);
}

/** Splits the generation from the rest of a request. */
export function readGeneration(body: unknown): { readonly generation: number; readonly rest: object } {
  const { generation, ...rest } = read(ProgressRequest, body);
  return { generation, rest };
}

/** Splits the id of the task from the rest of a frame. */
export function readCallId(data: unknown): { readonly callId: string; readonly rest: object } {
  const { callId, ...rest } = read(z.object({ callId: Name }).loose(), data);
  return { callId, rest };
}

export function readProgress(body: unknown): TaskProgress {
  const { text, progress } = read(Progress, body);
  return text === undefined ? { type: 'progress', text: progress ?? '' } : { type: 'text', text };
}

/** Agents that do not send parts send `text` and `data`. */
export function readResult(body: unknown): TaskReport {
  const { text, data, parts = [], artifacts, usage, outcome, ...about } = read(Result, body);
  const answer: ContentPart[] = text === undefined || text === '' ? [] : [textPart(text)];
  if (data !== undefined && data !== null) answer.push({ type: 'data', data });
  const known = Object.fromEntries(Object.entries(about).filter(([, value]) => value !== undefined));
  return {
    outcome,
    parts: [...answer, ...parts],
    usage,
    ...(artifacts && { artifacts: artifacts.map(toArtifact) }),
    ...known,
  };
}

function toArtifact({ id, name, parts }: z.output<typeof Artifact>): NonNullable<TaskReport['artifacts']>[number] {
  return { id, parts, ...(name !== undefined && { name }) };
}

function read<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw schemaFailed(parsed.error, { root: 'body' });
}
