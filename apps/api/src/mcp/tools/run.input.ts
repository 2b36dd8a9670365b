import { z } from 'zod';
import type { ContentPart } from '#rollcall/providers';
import { MAX_CAPABILITIES } from '#rollcall/registry';
import { INPUT_LIMITS } from '../../http/body/input.check.js';
import { MAX_WAIT_MS } from '../../http/server/in-flight.js';
import { MAX_OUTPUT, MAX_REASON } from '../../runs/runs.dto.js';

const MAX_NAME = 128;
const MAX_KEY = 255;
const MAX_FILES = 50;
const OCTETS = 'application/octet-stream';

const ABOUT_FILE = {
  filename: z.string().min(1).max(256).optional(),
  mediaType: z.string().min(1).max(256).optional().describe('The media type, such as image/png.'),
};
const FileSchema = z.union([
  z.strictObject({ ...ABOUT_FILE, base64: z.base64() }),
  z.strictObject({ ...ABOUT_FILE, url: z.url({ protocol: /^https?$/ }) }),
]);

const AmountSchema = z.number().int().min(0);

/** The parts of a message besides its text. */
const MESSAGE = {
  data: z.record(z.string(), z.unknown()).optional().describe('A JSON object for the agent.'),
  files: z.array(FileSchema).max(MAX_FILES).optional().describe('Files for the agent.'),
};

const TEXT = z.string().min(1).max(INPUT_LIMITS.stringLength);

/** The limits of a new run, as in POST /v1/runs. */
const LIMITS = {
  budget: z
    .strictObject({ tokens: AmountSchema.optional(), microUsd: AmountSchema.optional() })
    .optional()
    .describe('The maximum that the run may use.'),
  deadline: z.iso.datetime({ offset: true }).optional().describe('When the run must have ended.'),
};

const TARGET = {
  agent: z.string().min(1).max(MAX_NAME).optional().describe('The agentId of an agent, or the name of a definition.'),
  capabilities: z
    .array(z.string().min(1).max(MAX_NAME))
    .min(1)
    .max(MAX_CAPABILITIES)
    .optional()
    .describe('Instead of agent: the best agent that has all these capabilities is used.'),
  prefer: z
    .string()
    .min(1)
    .max(MAX_NAME)
    .optional()
    .describe('With capabilities: cheapest, fastest, round-robin or least-loaded.'),
};

const CONVERSATION = {
  conversationId: z.string().min(1).max(256).optional().describe('Continues a conversation of earlier runs.'),
};

const KEY = {
  idempotencyKey: z
    .string()
    .min(1)
    .max(MAX_KEY)
    .optional()
    .describe('Your id for this request. A repetition with the same id has no second effect.'),
};

export const WAIT = {
  waitMs: z.number().int().min(0).max(MAX_WAIT_MS).optional().describe('How long to wait for the result.'),
};

export const RunId = z.string().min(1).max(MAX_NAME).describe('The id of the run.');

const DECISION = z
  .strictObject({
    callId: z.string().min(1).max(512),
    inputHash: z.string().min(1).max(128),
    approved: z.boolean(),
    reason: z.string().max(MAX_REASON).optional(),
    output: z
      .string()
      .max(MAX_OUTPUT)
      .optional()
      .describe('The result of an interrupted call, if it is known. The call is then not repeated.'),
  })
  .describe('A decision about one of the calls in approvals. A human should make it.');

/** The input of run_agent. */
export const START_INPUT = z.strictObject({
  input: TEXT.describe('What the agent shall do.'),
  ...TARGET,
  ...MESSAGE,
  ...CONVERSATION,
  ...LIMITS,
  ...KEY,
  ...WAIT,
});
/** The input of answer_run. */
export const REPLY_INPUT = z.strictObject({
  runId: RunId,
  input: TEXT.optional().describe('Your answer to the question of the run.'),
  decision: DECISION.optional(),
  ...MESSAGE,
  ...KEY,
  ...WAIT,
});

/** The input of the tool of one agent. */
export const AGENT_INPUT = z.strictObject({
  input: TEXT.optional().describe('What the agent shall do, or your answer to its question.'),
  ...MESSAGE,
  runId: RunId.optional().describe(
    'Continues this run. With input or decision, the call answers the run; without them, it waits for the run.',
  ),
  decision: DECISION.optional(),
  ...CONVERSATION,
  ...LIMITS,
  ...KEY,
  ...WAIT,
});

export type StartInput = z.infer<typeof START_INPUT>;
export type ReplyInput = z.infer<typeof REPLY_INPUT>;

/** Converts the files of a request. */
export function toFileParts(files: readonly z.infer<typeof FileSchema>[]): ContentPart[] {
  return files.map(({ filename, mediaType = OCTETS, ...content }) => {
    const about = { mediaType, ...(filename !== undefined && { name: filename }) };
    return 'base64' in content
      ? { type: 'file', bytes: content.base64, ...about }
      : { type: 'file', url: content.url, ...about };
  });
}
