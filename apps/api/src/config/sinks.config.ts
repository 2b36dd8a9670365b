import { z } from 'zod';
import { A_DURATION, duration, integer, setting } from './setting.js';

export const webhooksConfig = z.strictObject({
  tries: setting(integer(1, 100, 12), {
    env: 'ROLLCALL_WEBHOOK_TRIES',
    about: 'How often one event is tried at a webhook before it is parked.',
    expects: 'a whole number from 1 to 100',
  }),
  retryFirst: setting(duration('1s'), {
    env: 'ROLLCALL_WEBHOOK_RETRY_FIRST',
    about: 'How long to wait after the first failure; then twice as long each time.',
    expects: A_DURATION,
    defaultText: '1s',
  }),
  retryLongest: setting(duration('15m'), {
    env: 'ROLLCALL_WEBHOOK_RETRY_LONGEST',
    about: 'The longest wait between two tries.',
    expects: A_DURATION,
    defaultText: '15m',
  }),
  timeout: setting(duration('10s'), {
    env: 'ROLLCALL_WEBHOOK_TIMEOUT',
    about: 'How long an endpoint may take to answer.',
    expects: A_DURATION,
    defaultText: '10s',
  }),
  keepDeliveries: setting(duration('3d'), {
    env: 'ROLLCALL_WEBHOOK_KEEP_DELIVERIES',
    about: 'How long deliveries that arrived can be looked at. Those that did not are kept ten times as long.',
    expects: A_DURATION,
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
      about: 'Relay every event to a JetStream of this NATS. Several servers of one cluster are separated by commas.',
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
      about: 'The stream. Made if it is not there; left as it is if it is.',
      expects: '1 to 100 of A-Z a-z 0-9 _ -',
    },
  ),
  subjectPrefix: setting(
    z
      .string()
      .regex(/^[\w-]+(\.[\w-]+)*$/)
      .default('rollcall.events'),
    {
      env: 'NATS_SUBJECT_PREFIX',
      about: 'Subjects are this and the type of the event: `rollcall.events.agent.joined`.',
      expects: 'words separated by dots',
    },
  ),
  credentials: setting(optionalText, {
    env: 'NATS_CREDENTIALS_FILE',
    about: 'A `.creds` file.',
    expects: 'a path',
  }),
  user: setting(optionalText, { env: 'NATS_USER', about: 'With NATS_PASSWORD.', expects: 'a name' }),
  password: setting(optionalText, {
    env: 'NATS_PASSWORD',
    about: 'With NATS_USER.',
    expects: 'a password',
    secret: true,
  }),
  token: setting(optionalText, { env: 'NATS_TOKEN', about: 'Instead of a user.', expects: 'a token', secret: true }),
});
