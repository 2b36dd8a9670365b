import { z } from 'zod';
import { LANGFUSE_AGENT_FIELDS } from '#rollcall/providers';
import { A_DURATION, duration, integer, setting } from './setting.js';

export const budgets = z.strictObject({
  lowPercent: setting(integer(0, 100, 10), {
    env: 'ROLLCALL_BUDGET_LOW_PERCENT',
    about:
      'A budget is low when less than this share of it is left, unless it has a mark of its own. Agents that are low on budget are ranked last by price.',
    expects: 'a whole number from 0 to 100',
  }),
  lowTokens: setting(integer(0, 1_000_000_000_000, 20_000), {
    env: 'ROLLCALL_BUDGET_LOW_TOKENS',
    about: "An agent's budget is low, too, when it has fewer tokens than this left, whatever its total.",
    expects: 'a whole number from 0 to 1000000000000',
  }),
  settleMultiple: setting(integer(0, 1_000_000, 10), {
    env: 'ROLLCALL_BUDGET_SETTLE_MULTIPLE',
    about:
      'A settlement of more than this many times its reservation needs the permission `budgets:write`. `0` switches the limit off.',
    expects: 'a whole number from 0 to 1000000',
  }),
  largestTokens: setting(integer(0, 1_000_000_000_000, 100_000_000), {
    env: 'ROLLCALL_BUDGET_LARGEST_RESERVATION_TOKENS',
    about: 'A reservation of more tokens than this needs the permission `budgets:write`. `0` switches the limit off.',
    expects: 'a whole number from 0 to 1000000000000',
  }),
  largestMicroUsd: setting(integer(0, 1_000_000_000_000, 10_000_000_000), {
    env: 'ROLLCALL_BUDGET_LARGEST_RESERVATION_MICRO_USD',
    about:
      'A reservation of more micro-dollars than this (10 billion are 10,000 dollars) needs the permission `budgets:write`. `0` switches the limit off.',
    expects: 'a whole number from 0 to 1000000000000',
  }),
  longestReservation: setting(duration('24h'), {
    env: 'ROLLCALL_BUDGET_LONGEST_RESERVATION',
    about:
      'Longest `ttlSeconds` of a reservation or a renewal without the permission `budgets:write`. Nobody gets more than 24h.',
    expects: A_DURATION,
    defaultText: '24h',
  }),
  runDepth: setting(integer(0, 1_000, 32), {
    env: 'ROLLCALL_BUDGET_RUN_DEPTH',
    about:
      'Most levels in a tree of runs. Each reservation locks the budgets of all runs above it. `0` switches the limit off.',
    expects: 'a whole number from 0 to 1000',
  }),
  keepReservations: setting(duration('7d'), {
    env: 'ROLLCALL_KEEP_RESERVATIONS',
    about: 'How long ended reservations are remembered, so that their keys can be repeated.',
    expects: A_DURATION,
    defaultText: '7d',
  }),
  keepLedger: setting(duration('400d'), {
    env: 'ROLLCALL_KEEP_LEDGER',
    about: 'How long the ledger keeps each line; older ones are summed up.',
    expects: A_DURATION,
    defaultText: '400d',
  }),
  keepRuns: setting(duration('90d'), {
    env: 'ROLLCALL_KEEP_RUN_BUDGETS',
    about: 'How long the budgets of a tree of runs are kept after the last thing that happened in it.',
    expects: A_DURATION,
    defaultText: '90d',
  }),
});

export const langfuse = z.strictObject({
  baseUrl: setting(z.url().default('https://cloud.langfuse.com'), {
    env: 'LANGFUSE_BASE_URL',
    about:
      'Where Langfuse is, for agents with `source: langfuse`. An internal address needs `ROLLCALL_EGRESS_ALLOW` too.',
    expects: 'a URL',
  }),
  publicKey: setting(z.string().min(1).optional(), {
    env: 'LANGFUSE_PUBLIC_KEY',
    about: 'Public key of the Langfuse project. Without both keys Langfuse is not asked.',
    expects: 'a key such as pk-lf-…',
  }),
  secretKey: setting(z.string().min(1).optional(), {
    env: 'LANGFUSE_SECRET_KEY',
    about: 'Secret key of the Langfuse project.',
    expects: 'a key such as sk-lf-…',
    secret: true,
  }),
  agentField: setting(z.enum(LANGFUSE_AGENT_FIELDS).default('traceName'), {
    env: 'ROLLCALL_LANGFUSE_AGENT_FIELD',
    about: 'Where traces carry the agentId: as the name of the trace, or of the observation.',
    expects: `one of ${LANGFUSE_AGENT_FIELDS.join(', ')}`,
  }),
  refreshEvery: setting(duration('5m'), {
    env: 'ROLLCALL_LANGFUSE_REFRESH_EVERY',
    about: 'How often Langfuse is asked what agents used.',
    expects: A_DURATION,
    defaultText: '5m',
  }),
});
