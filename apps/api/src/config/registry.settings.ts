import { z } from 'zod';
import { CapabilityAliases } from '#rollcall/registry';
import { DURATION_FORMAT, duration, integer, json, setting } from './setting.js';

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
});

export const discovery = z.strictObject({
  aliases: setting(json().pipe(z.record(z.string(), z.string())).default({}), {
    env: 'ROLLCALL_CAPABILITY_ALIASES',
    about:
      'Other names of capabilities, such as `coding: code`. An alias also applies to the capabilities below it. In the environment: one line of JSON.',
    expects: 'pairs of text such as {"coding": "code"}',
    defaultText: '{}',
  }),
});

/** Throws a CapabilityAliasError when the aliases contradict each other. */
export function aliasesOf({ aliases }: z.infer<typeof discovery>): CapabilityAliases {
  return new CapabilityAliases(aliases);
}

export const budgets = z.strictObject({
  keepLedger: setting(duration('400d'), {
    env: 'ROLLCALL_KEEP_LEDGER',
    about: 'How long the ledger keeps single lines. Older lines are replaced by their sum.',
    expects: DURATION_FORMAT,
    defaultText: '400d',
  }),
});

export const events = z.strictObject({
  keep: setting(duration('7d'), {
    env: 'ROLLCALL_EVENTS_KEEP',
    about: 'How long events are kept. A consumer that was disconnected for longer needs a snapshot.',
    expects: DURATION_FORMAT,
    defaultText: '7d',
  }),
});
