import { z } from 'zod';
import { serversIn } from '#rollcall/platform';
import { DURATION_FORMAT, duration, integer, setting } from './setting.js';

const POSTGRES_URL = z
  .string()
  .regex(/^postgres(ql)?:\/\//)
  .refine((text) => serversIn(text).every((server) => URL.canParse(server)))
  .optional();
const URL_FORMAT = 'a URL such as postgresql://user:password@host:5432/rollcall';

export const database = z.strictObject({
  url: setting(POSTGRES_URL, {
    env: 'DATABASE_URL',
    about:
      'URL of an external Postgres, 15 or newer. It may name several servers of a cluster, `one:5432,other:5432`. Without it, an embedded Postgres runs in the data folder, for one process.',
    expects: URL_FORMAT,
    secret: true,
  }),
  directUrl: setting(POSTGRES_URL, {
    env: 'DATABASE_DIRECT_URL',
    about:
      'URL of the same database without a connection pooler, if `DATABASE_URL` leads to one. Notifications, snapshots of the event log and migrations use it.',
    expects: URL_FORMAT,
    secret: true,
  }),
  poolSize: setting(integer(2, 1_000, 20), {
    env: 'ROLLCALL_DATABASE_POOL_SIZE',
    about: 'Maximum number of connections of each replica for requests and background work.',
    expects: 'a whole number from 2 to 1000',
  }),
  operationTimeout: setting(duration('1500ms'), {
    env: 'ROLLCALL_DATABASE_TIMEOUT',
    about: 'Maximum time of one statement. If a statement takes longer, the response is 503.',
    expects: DURATION_FORMAT,
    defaultText: '1500ms',
  }),
});

export const data = z.strictObject({
  dir: setting(z.string().min(1).default('.rollcall'), {
    env: 'ROLLCALL_DATA_DIR',
    about: 'Folder of the embedded Postgres and of `admin.key`.',
    expects: 'a path',
  }),
});
