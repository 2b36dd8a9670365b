import { z } from 'zod';
import { json, setting } from './setting.js';

/** A private key of the curve P-256, as JWK. */
const PrivateKey = z.object({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: z.string().min(1),
  y: z.string().min(1),
  d: z.string().min(1),
  kid: z.string().min(1).max(100).optional(),
});
const MAX_KEYS = 2;

export const a2a = z.strictObject({
  signingKeys: setting(json().pipe(z.array(PrivateKey).max(MAX_KEYS)).default([]), {
    env: 'ROLLCALL_A2A_SIGNING_KEYS',
    about:
      'Private keys that sign the A2A cards, as JWK. All replicas need the same keys. During a rotation, set the new and the old key: cards then have two signatures. Without keys, cards are not signed. In the environment: one line of JSON.',
    expects: 'a list of at most two private JWKs of the curve P-256',
    secret: true,
    defaultText: 'none',
  }),
});
