import { z } from 'zod';
import { LANGFUSE_AGENT_FIELDS } from '#rollcall/providers';
import { DURATION_FORMAT, duration, integer, setting } from './setting.js';

export const budgets = z.strictObject({
  lowPercent: setting(integer(0, 100, 10), {
    env: 'ROLLCALL_BUDGET_LOW_PERCENT',
    about:
      'A budget is low when less than this percentage of it is left, unless the budget has its own threshold. The strategy `cheapest` ranks agents with a low budget last.',
    expects: 'a whole number from 0 to 100',
  }),
  lowTokens: setting(integer(0, 1_000_000_000_000, 20_000), {
    env: 'ROLLCALL_BUDGET_LOW_TOKENS',
    about: 'The budget of an agent is also low when fewer tokens than this are left, independent of its size.',
    expects: 'a whole number from 0 to 1000000000000',
  }),
  settleMultiple: setting(integer(0, 1_000_000, 10), {
    env: 'ROLLCALL_BUDGET_SETTLE_MULTIPLE',
    about:
      'A settlement of more than this many times its reservation requires the permission `budgets:write`. `0` disables the limit.',
    expects: 'a whole number from 0 to 1000000',
  }),
  largestTokens: setting(integer(0, 1_000_000_000_000, 100_000_000), {
    env: 'ROLLCALL_BUDGET_LARGEST_RESERVATION_TOKENS',
    about: 'A reservation of more tokens than this requires the permission `budgets:write`. `0` disables the limit.',
    expects: 'a whole number from 0 to 1000000000000',
  }),
  largestMicroUsd: setting(integer(0, 1_000_000_000_000, 10_000_000_000), {
    env: 'ROLLCALL_BUDGET_LARGEST_RESERVATION_MICRO_USD',
    about:
      'A reservation of more micro-dollars than this (10 billion are 10,000 dollars) requires the permission `budgets:write`. `0` disables the limit.',
    expects: 'a whole number from 0 to 1000000000000',
  }),
  longestReservation: setting(duration('24h'), {
    env: 'ROLLCALL_BUDGET_LONGEST_RESERVATION',
    about:
      'Maximum `ttlSeconds` of a reservation or a renewal without the permission `budgets:write`. With it, the maximum is 24h.',
    expects: DURATION_FORMAT,
    defaultText: '24h',
  }),
  runDepth: setting(integer(0, 1_000, 32), {
    env: 'ROLLCALL_BUDGET_RUN_DEPTH',
    about:
      'Maximum depth of a tree of runs. Each reservation locks the budgets of all runs above it. `0` disables the limit.',
    expects: 'a whole number from 0 to 1000',
  }),
  keepReservations: setting(duration('7d'), {
    env: 'ROLLCALL_KEEP_RESERVATIONS',
    about:
      'How long ended reservations are kept. For this time, a repeated request with the same key gets the same response.',
    expects: DURATION_FORMAT,
    defaultText: '7d',
  }),
  keepLedger: setting(duration('400d'), {
    env: 'ROLLCALL_KEEP_LEDGER',
    about: 'How long the ledger keeps single lines. Older lines are replaced by their sum.',
    expects: DURATION_FORMAT,
    defaultText: '400d',
  }),
  keepRuns: setting(duration('90d'), {
    env: 'ROLLCALL_KEEP_RUN_BUDGETS',
    about: 'How long the budgets of a tree of runs are kept after their last change.',
    expects: DURATION_FORMAT,
    defaultText: '90d',
  }),
});

export const langfuse = z.strictObject({
  baseUrl: setting(z.url().default('https://cloud.langfuse.com'), {
    env: 'LANGFUSE_BASE_URL',
    about:
      'URL of Langfuse, for agents with `source: langfuse`. An internal address must also be allowed by `ROLLCALL_EGRESS_ALLOW`.',
    expects: 'a URL',
  }),
  publicKey: setting(z.string().min(1).optional(), {
    env: 'LANGFUSE_PUBLIC_KEY',
    about: 'Public key of the Langfuse project. Langfuse is used only if both keys are set.',
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
    about: 'The field of a trace that contains the agentId: the name of the trace or of the observation.',
    expects: `one of ${LANGFUSE_AGENT_FIELDS.join(', ')}`,
  }),
  refreshEvery: setting(duration('5m'), {
    env: 'ROLLCALL_LANGFUSE_REFRESH_EVERY',
    about: 'How often Rollcall reads the usage of agents from Langfuse.',
    expects: DURATION_FORMAT,
    defaultText: '5m',
  }),
});
