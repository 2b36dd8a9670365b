import { z } from 'zod';
import { DURATION_FORMAT, NETWORKS_FORMAT, duration, networks, setting } from './setting.js';

export const egress = z.strictObject({
  allow: setting(networks(), {
    env: 'ROLLCALL_EGRESS_ALLOW',
    about:
      'Networks that Rollcall may send requests to, in addition to the public Internet. Loopback addresses are also allowed with the embedded Postgres.',
    expects: NETWORKS_FORMAT,
  }),
  checkTimeout: setting(duration('10s'), {
    env: 'ROLLCALL_EGRESS_CHECK_TIMEOUT',
    about:
      'Maximum time to check all host names in one batch of registrations. Must be shorter than `http.handlerTimeout`. Registrations whose host names are not checked in time are rejected with `ENDPOINT_NOT_CHECKED`.',
    expects: DURATION_FORMAT,
    defaultText: '10s',
  }),
});
