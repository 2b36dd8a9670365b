import type { BudgetView, ForecastView, LedgerEntryView, LimitView } from '#rollcall/client';
import { command, option, required } from '../command.js';
import { usageError } from '../failure.js';
import { age, count, money } from '../output/text.js';
import type { View } from '../output/view.js';
import { LIST_OPTIONS, printList, WATCH_OPTION } from './listing.js';

const KINDS = ['agent', 'caller', 'run', 'namespace', 'fleet'] as const;
const WINDOWS = ['total', 'daily', 'monthly'] as const;

const BUDGETS: View<BudgetView> = {
  plural: 'budgets',
  name: ({ id }) => id,
  columns: [
    { title: 'BUDGET', whole: true, value: ({ id }) => id },
    { title: 'OF', value: ({ kind, subject }) => (subject === '' ? kind : `${kind} ${subject}`) },
    { title: 'WINDOW', value: ({ window }) => window },
    { title: 'CONDITION', value: ({ condition }) => condition, state: true },
    { title: 'TOKENS LEFT', value: ({ available }) => count(available.tokens), right: true },
    { title: 'OF TOKENS', value: ({ limit }) => count(limit.tokens), right: true },
    { title: 'USD LEFT', value: ({ available }) => money(available.microUsd), right: true },
    { title: 'OF USD', value: ({ limit }) => money(limit.microUsd), right: true },
    { title: 'USED', value: ({ usage }) => amount(usage.subtree), wide: true, right: true },
    { title: 'RESERVED', value: ({ reserved }) => amount(reserved), wide: true, right: true },
    { title: 'SOURCE', value: ({ source }) => source, wide: true },
    { title: 'WINDOW ENDS', value: ({ windowEnd }, now) => age(windowEnd, now), wide: true },
  ],
};

const LEDGER: View<LedgerEntryView> = {
  plural: 'entries',
  name: ({ seq }) => seq,
  columns: [
    { title: 'SEQ', value: ({ seq }) => seq, right: true },
    { title: 'AT', value: ({ at }) => at },
    { title: 'KIND', value: ({ kind }) => kind },
    { title: 'TOKENS', value: ({ tokens }) => count(tokens), right: true },
    { title: 'USD', value: ({ microUsd }) => money(microUsd), right: true },
    { title: 'BY', value: ({ by }) => by },
    { title: 'NOTE', value: ({ note }) => note },
    { title: 'RESERVATION', value: ({ reservation }) => reservation, wide: true },
  ],
};

const FORECAST: View<ForecastView & { id: string }> = {
  plural: 'forecasts',
  name: ({ id }) => id,
  columns: [
    { title: 'BUDGET', value: ({ id }) => id },
    { title: 'RUNS OUT', value: ({ runsOutAt }, now) => (runsOutAt === null ? 'not in sight' : age(runsOutAt, now)) },
    { title: 'TOKENS PER HOUR', value: ({ tokens }) => count(Math.round(tokens.perHour)), right: true },
    { title: 'USD PER HOUR', value: ({ microUsd }) => money(microUsd.perHour), right: true },
  ],
};

const AMOUNT_OPTIONS = {
  tokens: option.number('COUNT', 'Tokens.'),
  usd: option.usd('US dollars, such as 2.50.'),
} as const;

/** The limit of two options; at least one is required. */
function amountOf({
  tokens,
  usd: microUsd,
}: {
  tokens: number | undefined;
  usd: number | undefined;
}): Partial<LimitView> {
  if (tokens === undefined && microUsd === undefined) throw usageError('An amount is required: --tokens or --usd.');
  return { ...(tokens !== undefined && { tokens }), ...(microUsd !== undefined && { microUsd }) };
}

export const budgetCommands = [
  command({
    name: 'budgets list',
    about: 'List budgets.',
    example: 'rollcall budgets list --kind agent',
    permission: 'budgets:read',
    options: {
      kind: option.text('KIND', 'Only budgets of this kind.', { choices: KINDS }),
      subject: option.text('ID', 'Only budgets of this agent, caller, run or namespace.'),
      ...LIST_OPTIONS,
      ...WATCH_OPTION,
    },
    run: async (session, _, { kind, subject, ...options }) => {
      const client = await session.client();
      const filter = { ...(kind && { kind }), ...(subject !== undefined && { subject }) };
      await printList(session, BUDGETS, () => client.budgets.list(filter), options);
    },
  }),
  command({
    name: 'budgets get',
    about: 'Show a budget.',
    example: 'rollcall budgets get $BUDGET',
    permission: 'budgets:read',
    arguments: { id: 'Id of the budget.' },
    run: async ({ client, output }, { id }) => await output.item(BUDGETS, await (await client()).budgets.get(id)),
  }),
  command({
    name: 'budgets open',
    about: 'Create a budget.',
    example: 'rollcall budgets open --kind agent --subject $AGENT --window daily --tokens 100000',
    permission: 'budgets:write',
    options: {
      kind: required(option.text('KIND', 'What is limited.', { choices: KINDS })),
      subject: option.text('ID', 'Id of the agent, caller or run (default: the namespace).'),
      window: option.text('WINDOW', 'When its use begins at zero again (default total).', { choices: WINDOWS }),
      ...AMOUNT_OPTIONS,
    },
    run: async ({ client, output }, _, { kind, subject, window, ...amounts }) => {
      const limit = amountOf(amounts);
      const budget = await (
        await client()
      ).budgets.open({ kind, limit, ...(subject !== undefined && { subject }), ...(window && { window }) });
      await output.done(`Created the budget ${budget.id}.`, BUDGETS, budget);
    },
  }),
  command({
    name: 'budgets topup',
    about: 'Raise the limit of a budget.',
    example: 'rollcall budgets topup $BUDGET --tokens 50000 --note "release week"',
    permission: 'budgets:write',
    arguments: { id: 'Id of the budget.' },
    options: { ...AMOUNT_OPTIONS, note: option.text('TEXT', 'Why; it is stored in the ledger.') },
    run: async ({ client, output }, { id }, { note, tokens, usd: microUsd }) => {
      amountOf({ tokens, usd: microUsd });
      const budget = await (
        await client()
      ).budgets.topUp(id, {
        ...(tokens !== undefined && { tokens }),
        ...(microUsd !== undefined && { microUsd }),
        ...(note !== undefined && { note }),
      });
      await output.done(`${id} is ${budget.condition}: ${left(budget)} left.`, BUDGETS, budget);
    },
  }),
  command({
    name: 'budgets forecast',
    about: 'Estimate when a budget is exhausted.',
    example: 'rollcall budgets forecast $BUDGET --hours 24',
    permission: 'budgets:read',
    arguments: { id: 'Id of the budget.' },
    options: { hours: option.number('COUNT', 'Hours of use that the estimate is based on.') },
    run: async ({ client, output }, { id }, { hours }) => {
      const forecast = await (await client()).budgets.forecast(id, hours === undefined ? {} : { hours });
      await output.item(FORECAST, { id, ...forecast });
    },
  }),
  command({
    name: 'budgets ledger',
    about: 'List what a budget was charged and changed by.',
    example: 'rollcall budgets ledger $BUDGET',
    permission: 'budgets:read',
    arguments: { id: 'Id of the budget.' },
    options: LIST_OPTIONS,
    run: async (session, { id }, options) => {
      const client = await session.client();
      await printList(session, LEDGER, () => client.budgets.listLedger(id, {}), options);
    },
  }),
];

function amount({ tokens, microUsd }: { tokens: number; microUsd: number }): string {
  return `${count(tokens)} / ${money(microUsd)}`;
}

function left({ available }: BudgetView): string {
  const tokens = available.tokens === null ? undefined : `${count(available.tokens)} tokens`;
  const cost = available.microUsd === null ? undefined : money(available.microUsd);
  return [tokens, cost].filter((part) => part !== undefined).join(' and ');
}
