import { z } from 'zod';
import { integer, setting } from './setting.js';

/** What one credential may have at once, whatever its role. */
export const quotas = z.strictObject({
  agents: setting(integer(0, 10_000_000, 10_000), {
    env: 'ROLLCALL_QUOTA_AGENTS',
    about: 'Live agents that one credential may have registered. `0` is no limit.',
    expects: 'a whole number from 0 to 10000000',
  }),
  reservations: setting(integer(0, 10_000_000, 10_000), {
    env: 'ROLLCALL_QUOTA_RESERVATIONS',
    about: 'Reservations that one credential may hold at the same time. `0` is no limit.',
    expects: 'a whole number from 0 to 10000000',
  }),
  webhooks: setting(integer(0, 1_000_000, 100), {
    env: 'ROLLCALL_QUOTA_WEBHOOKS',
    about: 'Webhooks that one credential may have created. `0` is no limit.',
    expects: 'a whole number from 0 to 1000000',
  }),
});
