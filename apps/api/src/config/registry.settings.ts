import { z } from 'zod';
import { A_DURATION, decimal, duration, integer, json, setting } from './setting.js';

export const registry = z.strictObject({
  heartbeatEvery: setting(duration('10s'), {
    env: 'ROLLCALL_HEARTBEAT_EVERY',
    about: 'How often agents must beat. They are told with every answer.',
    expects: A_DURATION,
    defaultText: '10s',
  }),
  missedBeats: setting(integer(3, 100, 3), {
    env: 'ROLLCALL_MISSED_BEATS',
    about: 'So many missed beats in a row evict an agent; two make it suspect.',
    expects: 'a whole number from 3 to 100',
  }),
  keepLeft: setting(duration('7d'), {
    env: 'ROLLCALL_KEEP_LEFT_AGENTS',
    about: 'How long agents that have left are kept as history, 15m at the least.',
    expects: A_DURATION,
    defaultText: '7d',
  }),
});

export const discovery = z.strictObject({
  aliases: setting(json().pipe(z.record(z.string(), z.string())).default({}), {
    env: 'ROLLCALL_CAPABILITY_ALIASES',
    about:
      'Other words for capabilities, as `coding: code`; they hold for what is below them too. In the environment: one line of JSON.',
    expects: 'pairs of text such as {"coding": "code"}',
    defaultText: '{}',
  }),
  staleAfter: setting(duration('60s'), {
    env: 'ROLLCALL_DIRECTORY_STALE_AFTER',
    about:
      'How long a replica that cannot read the event log answers queries from memory, with the age in the header `Age`. Then the answer is 503 `DIRECTORY_STALE`.',
    expects: A_DURATION,
    defaultText: '60s',
  }),
});

export const circuit = z.strictObject({
  failures: setting(integer(1, 1_000, 5), {
    env: 'ROLLCALL_CIRCUIT_FAILURES',
    about: 'So many failed calls in a row open the circuit of an agent.',
    expects: 'a whole number from 1 to 1000',
  }),
  coolDown: setting(duration('10s'), {
    env: 'ROLLCALL_CIRCUIT_COOL_DOWN',
    about: 'How long an open circuit lets nobody through.',
    expects: A_DURATION,
    defaultText: '10s',
  }),
  backOff: setting(decimal(1, 100, 2), {
    env: 'ROLLCALL_CIRCUIT_BACK_OFF',
    about: 'Each probe that fails makes the next cool-down this many times longer.',
    expects: 'a number from 1 to 100',
  }),
  longestCoolDown: setting(duration('5m'), {
    env: 'ROLLCALL_CIRCUIT_LONGEST_COOL_DOWN',
    about: 'The longest a cool-down becomes.',
    expects: A_DURATION,
    defaultText: '5m',
  }),
  probe: setting(duration('30s'), {
    env: 'ROLLCALL_CIRCUIT_PROBE',
    about: 'How long a caller may take to report on its probe before another one may try.',
    expects: A_DURATION,
    defaultText: '30s',
  }),
});

export const protection = z.strictObject({
  percent: setting(integer(0, 100, 15), {
    env: 'ROLLCALL_PROTECTION_PERCENT',
    about:
      'When more of the fleet than this is silent at once, nobody is evicted for a while. `100` switches that off.',
    expects: 'a whole number from 0 to 100',
  }),
  fewest: setting(integer(1, 1_000_000, 3), {
    env: 'ROLLCALL_PROTECTION_FEWEST',
    about: 'Fewer silent agents than this are evicted whatever their share.',
    expects: 'a whole number from 1 to 1000000',
  }),
  longest: setting(duration('10m'), {
    env: 'ROLLCALL_PROTECTION_LONGEST',
    about: 'How long nobody is evicted; then, if they are still silent, slowly.',
    expects: A_DURATION,
    defaultText: '10m',
  }),
  evictionsPerMinute: setting(integer(1, 1_000_000, 60), {
    env: 'ROLLCALL_PROTECTION_EVICTIONS_PER_MINUTE',
    about: 'How slowly.',
    expects: 'a whole number from 1 to 1000000',
  }),
});

export const flapping = z.strictObject({
  suppressAt: setting(decimal(0.1, 1_000, 3), {
    env: 'ROLLCALL_FLAPPING_SUPPRESS_AT',
    about: 'An agent that left and came back this often lately is kept out of answers. Old times count less and less.',
    expects: 'a number from 0.1 to 1000',
  }),
  reuseBelow: setting(decimal(0.01, 1_000, 1), {
    env: 'ROLLCALL_FLAPPING_REUSE_BELOW',
    about: 'It is let in again when what still counts has fallen below this.',
    expects: 'a number from 0.01 to 1000',
  }),
  halfLife: setting(duration('1m'), {
    env: 'ROLLCALL_FLAPPING_HALF_LIFE',
    about: 'After this long one time counts only half.',
    expects: A_DURATION,
    defaultText: '1m',
  }),
  longest: setting(duration('10m'), {
    env: 'ROLLCALL_FLAPPING_LONGEST',
    about: 'Nobody is kept out for longer than this after the last time.',
    expects: A_DURATION,
    defaultText: '10m',
  }),
});
