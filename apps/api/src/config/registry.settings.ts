import { z } from 'zod';
import { DURATION_FORMAT, decimal, duration, integer, json, setting } from './setting.js';

export const registry = z.strictObject({
  heartbeatEvery: setting(duration('10s'), {
    env: 'ROLLCALL_HEARTBEAT_EVERY',
    about: 'How often agents must send a heartbeat. Each response to a heartbeat contains the time until the next one.',
    expects: DURATION_FORMAT,
    defaultText: '10s',
  }),
  missedBeats: setting(integer(3, 100, 3), {
    env: 'ROLLCALL_MISSED_BEATS',
    about:
      'Number of consecutive missed heartbeats after which an agent is evicted. After two missed heartbeats, the agent is suspect.',
    expects: 'a whole number from 3 to 100',
  }),
  keepLeft: setting(duration('7d'), {
    env: 'ROLLCALL_KEEP_LEFT_AGENTS',
    about: 'How long the records of agents that have left are kept, at least 15m.',
    expects: DURATION_FORMAT,
    defaultText: '7d',
  }),
  keepContracts: setting(duration('30d'), {
    env: 'ROLLCALL_KEEP_CONTRACTS',
    about:
      'How long contracts that ended are kept, with their transcripts. The reliability of a bidder is learned from them.',
    expects: DURATION_FORMAT,
    defaultText: '30d',
  }),
});

export const discovery = z.strictObject({
  aliases: setting(json().pipe(z.record(z.string(), z.string())).default({}), {
    env: 'ROLLCALL_CAPABILITY_ALIASES',
    about:
      'Other names of capabilities, such as `coding: code`. An alias also applies to the capabilities below it. In the environment: one line of JSON.',
    expects: 'pairs of text such as {"coding": "code"}',
    defaultText: '{}',
  }),
  staleAfter: setting(duration('60s'), {
    env: 'ROLLCALL_DIRECTORY_STALE_AFTER',
    about:
      'How long a replica that cannot read the event log answers queries from its directory, with the header `Age`. After that, the response is 503 `DIRECTORY_STALE`.',
    expects: DURATION_FORMAT,
    defaultText: '60s',
  }),
});

export const circuit = z.strictObject({
  failures: setting(integer(1, 1_000, 5), {
    env: 'ROLLCALL_CIRCUIT_FAILURES',
    about: 'Number of consecutive failed calls that opens the circuit of an agent.',
    expects: 'a whole number from 1 to 1000',
  }),
  coolDown: setting(duration('10s'), {
    env: 'ROLLCALL_CIRCUIT_COOL_DOWN',
    about: 'How long an open circuit rejects all calls before it allows a probe.',
    expects: DURATION_FORMAT,
    defaultText: '10s',
  }),
  backOff: setting(decimal(1, 100, 2), {
    env: 'ROLLCALL_CIRCUIT_BACK_OFF',
    about: 'Each failed probe multiplies the cool-down by this factor.',
    expects: 'a number from 1 to 100',
  }),
  longestCoolDown: setting(duration('5m'), {
    env: 'ROLLCALL_CIRCUIT_LONGEST_COOL_DOWN',
    about: 'Maximum cool-down of a circuit.',
    expects: DURATION_FORMAT,
    defaultText: '5m',
  }),
  probe: setting(duration('30s'), {
    env: 'ROLLCALL_CIRCUIT_PROBE',
    about: 'How long a caller may take to report the outcome of its probe before another caller may probe.',
    expects: DURATION_FORMAT,
    defaultText: '30s',
  }),
});

export const protection = z.strictObject({
  percent: setting(integer(0, 100, 15), {
    env: 'ROLLCALL_PROTECTION_PERCENT',
    about:
      'Self-preservation begins when more than this percentage of the fleet is silent at the same time: no agent is evicted for a limited time. `100` disables it.',
    expects: 'a whole number from 0 to 100',
  }),
  fewest: setting(integer(1, 1_000_000, 3), {
    env: 'ROLLCALL_PROTECTION_FEWEST',
    about: 'Self-preservation does not begin with fewer silent agents than this.',
    expects: 'a whole number from 1 to 1000000',
  }),
  longest: setting(duration('10m'), {
    env: 'ROLLCALL_PROTECTION_LONGEST',
    about:
      'How long self-preservation evicts no agent. After that, agents that are still silent are evicted at a limited rate.',
    expects: DURATION_FORMAT,
    defaultText: '10m',
  }),
  evictionsPerMinute: setting(integer(1, 1_000_000, 60), {
    env: 'ROLLCALL_PROTECTION_EVICTIONS_PER_MINUTE',
    about: 'Maximum number of evictions per minute after `protection.longest`, until few enough agents are silent.',
    expects: 'a whole number from 1 to 1000000',
  }),
});

export const flapping = z.strictObject({
  suppressAt: setting(decimal(0.1, 1_000, 3), {
    env: 'ROLLCALL_FLAPPING_SUPPRESS_AT',
    about:
      'An agent that left and registered again this many times is suppressed: queries do not return it. The count decreases over time.',
    expects: 'a number from 0.1 to 1000',
  }),
  reuseBelow: setting(decimal(0.01, 1_000, 1), {
    env: 'ROLLCALL_FLAPPING_REUSE_BELOW',
    about: 'Queries return a suppressed agent again when its count has fallen below this value.',
    expects: 'a number from 0.01 to 1000',
  }),
  halfLife: setting(duration('1m'), {
    env: 'ROLLCALL_FLAPPING_HALF_LIFE',
    about: 'Time after which the count of an agent has fallen to one half.',
    expects: DURATION_FORMAT,
    defaultText: '1m',
  }),
  longest: setting(duration('10m'), {
    env: 'ROLLCALL_FLAPPING_LONGEST',
    about: 'Maximum time for which an agent is suppressed after its last registration.',
    expects: DURATION_FORMAT,
    defaultText: '10m',
  }),
});
