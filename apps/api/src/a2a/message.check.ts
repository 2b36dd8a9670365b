import { z } from 'zod';
import { schemaFailed } from '../http/validation/validation.errors.js';

const MAX_ID = 256;
const CONTENTS = ['text', 'raw', 'url', 'data'] as const;
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

const Id = z.string().min(1).max(MAX_ID);
const PartSchema = z
  .looseObject({
    text: z.string().optional(),
    raw: z.string().regex(BASE64, 'must be Base64').optional(),
    url: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional(),
    mediaType: z.string().max(MAX_ID).optional(),
    filename: z.string().max(MAX_ID).optional(),
  })
  .refine((part) => CONTENTS.filter((name) => part[name] !== undefined).length === 1, {
    message: `must have exactly one of ${CONTENTS.join(', ')}`,
  });
const MessageSchema = z.looseObject({
  messageId: Id,
  role: z.literal('ROLE_USER'),
  parts: z.array(PartSchema).min(1),
  taskId: z.string().max(MAX_ID).optional(),
  contextId: z.string().max(MAX_ID).optional(),
});
const RequestSchema = z.looseObject({ message: MessageSchema });

/**
 * Checks a message as the client sent it. The codec of the SDK accepts everything: it fills missing fields with defaults, and drops
 * the second content of a part. Unknown fields are ignored, as the specification requires.
 */
export function checkMessage(request: unknown): void {
  const { error } = RequestSchema.safeParse(request);
  if (error) throw schemaFailed(error, { root: 'params' });
}
