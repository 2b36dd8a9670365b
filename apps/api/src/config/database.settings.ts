import { z } from 'zod';
import { STATEMENTS_PER_TRANSACTION, DEFAULT_RESERVED_POOL_SIZE } from '#rollcall/platform';
import { DURATION_FORMAT, duration, integer, setting } from './setting.js';

export const database = z.strictObject({
  url: setting(
    z
      .string()
      .regex(/^postgres(ql)?:\/\//)
      .refine((text) => URL.canParse(text))
      .optional(),
    {
      env: 'DATABASE_URL',
      about:
        'URL of an external Postgres, 15 or newer. Without it, an embedded Postgres runs in the data folder, for one process.',
      expects: 'a URL such as postgresql://user:password@host:5432/rollcall',
      secret: true,
    },
  ),
  poolSize: setting(integer(2, 1_000, 20), {
    env: 'ROLLCALL_DATABASE_POOL_SIZE',
    about: 'Maximum number of connections of each replica for requests and background work.',
    expects: 'a whole number from 2 to 1000',
  }),
  reservedPoolSize: setting(integer(1, 100, DEFAULT_RESERVED_POOL_SIZE), {
    env: 'ROLLCALL_DATABASE_RESERVED_POOL_SIZE',
    about:
      'Additional connections of each replica, reserved for heartbeats, sweeps, the event feed, readiness and checks of known API keys.',
    expects: 'a whole number from 1 to 100',
  }),
  operationTimeout: setting(duration('1500ms'), {
    env: 'ROLLCALL_DATABASE_TIMEOUT',
    about: 'Maximum time of one statement. If a statement takes longer, the response is 503.',
    expects: DURATION_FORMAT,
    defaultText: '1500ms',
  }),
  transactionFactor: setting(integer(1, 100, STATEMENTS_PER_TRANSACTION), {
    env: 'ROLLCALL_DATABASE_TRANSACTION_FACTOR',
    about:
      'A whole transaction may take this many times `database.operationTimeout`, and at most `http.handlerTimeout`.',
    expects: 'a whole number from 1 to 100',
  }),
  slowRoundTrip: setting(duration('500ms'), {
    env: 'ROLLCALL_DATABASE_SLOW_ROUND_TRIP',
    about:
      'When three consecutive round trips to the database take longer than this, `/health/ready` returns 503 until three consecutive round trips are faster.',
    expects: DURATION_FORMAT,
    defaultText: '500ms',
  }),
  connectWait: setting(duration('30s'), {
    env: 'ROLLCALL_DATABASE_CONNECT_WAIT',
    about: 'How long the start waits until Postgres accepts connections.',
    expects: DURATION_FORMAT,
    defaultText: '30s',
  }),
});

export const data = z.strictObject({
  dir: setting(z.string().min(1).default('.rollcall'), {
    env: 'ROLLCALL_DATA_DIR',
    about: 'Folder of the embedded Postgres and of `admin.key`.',
    expects: 'a path',
  }),
});
