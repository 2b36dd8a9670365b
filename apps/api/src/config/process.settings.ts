import { z } from 'zod';
import { DURATION_FORMAT, duration, setting } from './setting.js';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export const log = z.strictObject({
  level: setting(z.enum(LEVELS).default('info'), {
    env: 'LOG_LEVEL',
    about: 'Lowest level that is logged.',
    expects: `one of ${LEVELS.join(', ')}`,
  }),
  format: setting(z.enum(['auto', 'json', 'pretty']).default('auto'), {
    env: 'LOG_FORMAT',
    about: '`json` for log collectors, `pretty` for people. `auto` uses `pretty` if the output is a terminal.',
    expects: 'auto, json or pretty',
  }),
  requests: setting(z.enum(['all', 'errors', 'none']).default('errors'), {
    env: 'LOG_REQUESTS',
    about: 'Which requests are logged. Metrics and traces always cover all requests.',
    expects: 'all, errors or none',
  }),
});

export const shutdown = z.strictObject({
  drainDelay: setting(duration('0s'), {
    env: 'ROLLCALL_DRAIN_DELAY',
    about:
      'How long a stopping replica serves requests after `/health/ready` returns 503, so that the proxy can notice this. Use `5s` on Kubernetes.',
    expects: DURATION_FORMAT,
    defaultText: '0s',
  }),
  timeout: setting(duration('10s'), {
    env: 'ROLLCALL_SHUTDOWN_TIMEOUT',
    about: 'How long the shutdown waits for requests in progress before the process ends.',
    expects: DURATION_FORMAT,
    defaultText: '10s',
  }),
});
