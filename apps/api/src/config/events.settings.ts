import { z } from 'zod';
import { DURATION_FORMAT, byteSize, duration, integer, setting } from './setting.js';

export const events = z.strictObject({
  keep: setting(duration('7d'), {
    env: 'ROLLCALL_EVENTS_KEEP',
    about: 'How long events are kept. A consumer that was disconnected for longer needs a snapshot.',
    expects: DURATION_FORMAT,
    defaultText: '7d',
  }),
  keepCount: setting(integer(1, 1_000_000_000, 1_000_000), {
    env: 'ROLLCALL_EVENTS_KEEP_COUNT',
    about: 'Maximum number of events that are kept, independent of their age.',
    expects: 'a whole number from 1 to 1000000000',
  }),
  buffer: setting(byteSize('1MB'), {
    env: 'ROLLCALL_EVENTS_BUFFER',
    about: 'Maximum size of the send buffer of one WebSocket or SSE consumer.',
    expects: 'a size such as 256KB or 1MB',
    defaultText: '1MB',
  }),
  slowAfter: setting(duration('10s'), {
    env: 'ROLLCALL_EVENTS_SLOW_AFTER',
    about:
      'How long the send buffer may stay full before the consumer is disconnected. The consumer gets the cursor to resume from.',
    expects: DURATION_FORMAT,
    defaultText: '10s',
  }),
});
