import { z } from 'zod';

/** The name of an environment variable that contains a key. The key itself is read for each call and not stored. */
export const EnvName = z
  .string()
  .regex(/^[A-Z][A-Z0-9_]*$/, 'must be the name of an environment variable, such as MY_API_KEY');
