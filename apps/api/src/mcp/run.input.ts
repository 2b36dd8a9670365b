import { z } from 'zod';
import { MAX_CAPABILITIES } from '#rollcall/registry';
import { INPUT_LIMITS } from '../http/body/input.check.js';
import { MAX_OUTPUT, MAX_REASON } from '../runs/run-replies.dto.js';
import { MAX_WAIT_MS } from '../http/server/in-flight.js';

const MAX_NAME = 128;
const MAX_KEY = 255;
const MAX_FILES = 50;

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
export const MESSAGE = {
  data: z.record(z.string(), z.unknown()).optional().describe('A JSON object for the agent.'),
  files: z.array(FileSchema).max(MAX_FILES).optional().describe('Files for the agent.'),
};

export const TEXT = z.string().min(1).max(INPUT_LIMITS.stringLength);

/** The limits of a new run, as in POST /v1/runs. */
export const LIMITS = {
  budget: z
    .strictObject({ tokens: AmountSchema.optional(), microUsd: AmountSchema.optional() })
    .optional()
    .describe('The maximum that the run may use.'),
  deadline: z.iso.datetime({ offset: true }).optional().describe('When the run must have ended.'),
};

export const TARGET = {
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

export const CONVERSATION = {
  conversationId: z.string().min(1).max(256).optional().describe('Continues a conversation of earlier runs.'),
};

export const KEY = {
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

export const RUN_ID = z.string().min(1).max(MAX_NAME).describe('The id of the run.');

export const DECISION = z
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

export type FileInput = z.infer<typeof FileSchema>;
