import { z } from 'zod';
import { DURATION_FORMAT, duration, integer, setting } from './setting.js';

export const webhooksConfig = z.strictObject({
  tries: setting(integer(1, 100, 12), {
    env: 'ROLLCALL_WEBHOOK_TRIES',
    about: 'Number of attempts to deliver one event to a webhook before the delivery is parked.',
    expects: 'a whole number from 1 to 100',
  }),
  retryFirst: setting(duration('1s'), {
    env: 'ROLLCALL_WEBHOOK_RETRY_FIRST',
    about: 'Waiting time after the first failed attempt. It doubles with each further failure.',
    expects: DURATION_FORMAT,
    defaultText: '1s',
  }),
  retryLongest: setting(duration('15m'), {
    env: 'ROLLCALL_WEBHOOK_RETRY_LONGEST',
    about: 'Maximum waiting time between two attempts.',
    expects: DURATION_FORMAT,
    defaultText: '15m',
  }),
  timeout: setting(duration('10s'), {
    env: 'ROLLCALL_WEBHOOK_TIMEOUT',
    about: 'How long a webhook may take to respond.',
    expects: DURATION_FORMAT,
    defaultText: '10s',
  }),
  keepDeliveries: setting(duration('3d'), {
    env: 'ROLLCALL_WEBHOOK_KEEP_DELIVERIES',
    about: 'How long the records of successful deliveries are kept. Failed deliveries are kept ten times as long.',
    expects: DURATION_FORMAT,
    defaultText: '3d',
  }),
});

const optionalText = z.string().min(1).optional();

export const natsConfig = z.strictObject({
  url: setting(
    z
      .string()
      .regex(/^(nats|tls):\/\/[^\s,]+(,(nats|tls):\/\/[^\s,]+)*$/)
      .optional(),
    {
      env: 'NATS_URL',
      about: 'Publish every event to JetStream on this NATS server. Separate several servers of one cluster by commas.',
      expects: 'one or more URLs such as nats://nats-1:4222',
      secret: true,
    },
  ),
  stream: setting(
    z
      .string()
      .regex(/^[\w-]{1,100}$/)
      .default('ROLLCALL'),
    {
      env: 'NATS_STREAM',
      about: 'Name of the stream. It is created if it does not exist; an existing stream is not changed.',
      expects: '1 to 100 characters out of A-Z a-z 0-9 _ -',
    },
  ),
  subjectPrefix: setting(
    z
      .string()
      .regex(/^[\w-]+(\.[\w-]+)*$/)
      .default('rollcall.events'),
    {
      env: 'NATS_SUBJECT_PREFIX',
      about:
        'A subject is this prefix, the namespace and the type of the event: `rollcall.events.default.agent.joined`.',
      expects: 'words separated by dots',
    },
  ),
  credentials: setting(optionalText, {
    env: 'NATS_CREDENTIALS_FILE',
    about: 'Path of a `.creds` file to authenticate with.',
    expects: 'a path',
  }),
  user: setting(optionalText, {
    env: 'NATS_USER',
    about: 'User to authenticate with, together with `NATS_PASSWORD`.',
    expects: 'a name',
  }),
  password: setting(optionalText, {
    env: 'NATS_PASSWORD',
    about: 'Password of `NATS_USER`.',
    expects: 'a password',
    secret: true,
  }),
  token: setting(optionalText, {
    env: 'NATS_TOKEN',
    about: 'Token to authenticate with, instead of a user.',
    expects: 'a token',
    secret: true,
  }),
});
