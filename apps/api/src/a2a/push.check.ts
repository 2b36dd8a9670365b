import type { TaskPushNotificationConfig } from '@a2a-js/sdk';
import { z } from 'zod';
import { schemaFailed } from '../http/validation/validation.errors.js';

const MAX_ID = 256;
const MAX_SECRET = 4_096;
/** The value of a header, which must not contain a line break. */
const HeaderValue = z
  .string()
  .max(MAX_SECRET)
  .regex(/^[\x20-\x7e]*$/, 'must contain only visible ASCII characters');
const ConfigSchema = z.object({
  id: z.string().max(MAX_ID),
  url: z.string().min(1, 'is required').max(2_048),
  token: HeaderValue,
  authentication: z
    .object({
      scheme: z.string().regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a scheme, such as Bearer'),
      credentials: HeaderValue,
    })
    .optional(),
});

export type CheckedPush = z.infer<typeof ConfigSchema>;

/** Checks the fields that become parts of requests to the client. */
export function checkPush(config: TaskPushNotificationConfig): CheckedPush {
  const { data, error } = ConfigSchema.safeParse(config);
  if (data) return data;
  throw schemaFailed(error, { root: 'params' });
}
