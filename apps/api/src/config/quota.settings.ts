import { z } from 'zod';
import { integer, setting } from './setting.js';

/** How many objects one credential may have at the same time, independent of its role. */
export const quotas = z.strictObject({
  agents: setting(integer(0, 10_000_000, 10_000), {
    env: 'ROLLCALL_QUOTA_AGENTS',
    about: 'Live agents that one credential may have registered. `0` disables the limit.',
    expects: 'a whole number from 0 to 10000000',
  }),
  reservations: setting(integer(0, 10_000_000, 10_000), {
    env: 'ROLLCALL_QUOTA_RESERVATIONS',
    about: 'Reservations that one credential may hold at the same time. `0` disables the limit.',
    expects: 'a whole number from 0 to 10000000',
  }),
  webhooks: setting(integer(0, 1_000_000, 100), {
    env: 'ROLLCALL_QUOTA_WEBHOOKS',
    about: 'Webhooks that one credential may have. `0` disables the limit.',
    expects: 'a whole number from 0 to 1000000',
  }),
  contracts: setting(integer(0, 1_000_000, 1_000), {
    env: 'ROLLCALL_QUOTA_CONTRACTS',
    about: 'Open contracts that one credential may have announced. `0` disables the limit.',
    expects: 'a whole number from 0 to 1000000',
  }),
});
