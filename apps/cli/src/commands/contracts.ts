import type { ContractDetailView, ContractView } from '#rollcall/client';
import { command, option, required } from '../command.js';
import { usageError } from '../failure.js';
import { age, money, span } from '../output/text.js';
import type { View } from '../output/view.js';
import { LIST_OPTIONS, printList, WATCH_OPTION } from './listing.js';

const STATES = ['announced', 'bidding', 'awarded', 'confirmed', 'expired', 'cancelled'] as const;

const CONTRACTS: View<ContractView> = {
  plural: 'contracts',
  name: ({ id }) => id,
  columns: [
    { title: 'CONTRACT', whole: true, value: ({ id }) => id },
    {
      title: 'STATE',
      value: ({ state, expiryReason }) => (expiryReason === null ? state : `${state} ${expiryReason}`),
      state: true,
    },
    { title: 'CAPABILITIES', value: ({ capabilities }) => capabilities.join(',') },
    { title: 'BIDS', value: ({ answered, invited }) => `${answered}/${invited}`, right: true },
    { title: 'WINNER', value: ({ winner }) => winner },
    { title: 'DEADLINE', value: ({ deadline }, now) => age(deadline, now), right: true },
    { title: 'TASK', value: ({ task }) => task },
    { title: 'RUN', value: ({ runId }) => runId, wide: true },
    { title: 'BY', value: ({ announcedBy }) => announcedBy, wide: true },
  ],
};

export const contractCommands = [
  command({
    name: 'contracts list',
    about: 'List contracts.',
    example: 'rollcall contracts list --state bidding,awarded',
    permission: 'contracts:read',
    options: {
      state: option.list('STATES', 'Only contracts in these states.', { choices: STATES }),
      ...LIST_OPTIONS,
      ...WATCH_OPTION,
    },
    run: async (session, _, { state, ...options }) => {
      const client = await session.client();
      await printList(session, CONTRACTS, () => client.contracts.list(state ? { state } : {}), options);
    },
  }),
  command({
    name: 'contracts get',
    about: 'Show a contract with its bids.',
    example: 'rollcall contracts get $CONTRACT',
    permission: 'contracts:read',
    arguments: { id: 'Id of the contract.' },
    run: async ({ client, output }, { id }) => {
      const contract = await (await client()).contracts.get(id);
      await output.item(CONTRACTS, contract, contract.bids.map(bidText));
    },
  }),
  command({
    name: 'contracts announce',
    about: 'Announce a task, for which agents bid.',
    example: 'rollcall contracts announce "Build the release" --capabilities build --within 5s',
    permission: 'contracts:announce',
    arguments: { task: 'The task.' },
    options: {
      capabilities: required(option.list('NAMES', 'Capabilities of the agents that are invited.')),
      within: option.duration('How long agents may bid.'),
      maxPrice: option.usd('The highest price of a bid.'),
      reserveTokens: option.number('COUNT', 'Tokens that are reserved for the work.'),
      reserveUsd: option.usd('US dollars that are reserved for the work.'),
      run: option.flag('Start the run of the winner.'),
    },
    run: async ({ client, output }, { task }, { capabilities, within, maxPrice, reserveTokens, reserveUsd, run }) => {
      if (reserveUsd !== undefined && reserveTokens === undefined)
        throw usageError('--reserve-usd needs --reserve-tokens.');
      const contract = await (
        await client()
      ).contracts.announce({
        task,
        capabilities: capabilities ?? [],
        ...(within !== undefined && { bidWithinMs: within }),
        ...(maxPrice !== undefined && { limits: { price: maxPrice } }),
        ...(reserveTokens !== undefined && {
          reserve: { tokens: reserveTokens, ...(reserveUsd !== undefined && { microUsd: reserveUsd }) },
        }),
        ...(run && { run }),
      });
      await output.done(`Announced the contract ${contract.id} to ${contract.invited} agents.`, CONTRACTS, contract);
    },
  }),
  command({
    name: 'contracts cancel',
    about: 'Cancel a contract.',
    example: 'rollcall contracts cancel $CONTRACT --yes',
    permission: 'contracts:announce',
    destroys: true,
    arguments: { id: 'Id of the contract.' },
    run: async ({ client, output, confirm }, { id }) => {
      await confirm(`Cancel the contract ${id}?`);
      const contract = await (await client()).contracts.cancel(id);
      await output.done(`${id} is ${contract.state}.`, CONTRACTS, contract);
    },
  }),
];

function bidText({ agentId, answer, price, etaMs, rank, result }: ContractDetailView['bids'][number]): string {
  const facts = [
    answer ?? 'no answer',
    price === null ? undefined : money(price),
    etaMs === null ? undefined : `in ${span(etaMs)}`,
    rank === null ? undefined : `rank ${rank}`,
    result ?? undefined,
  ];
  return `${agentId}: ${facts.filter((fact) => fact !== undefined).join(', ')}`;
}
