import type { AgentView, CandidateView, ExcludedAgentView, HostedAgentView } from '#rollcall/client';
import { command, option, type Session } from '../command.js';
import { age, count } from '../output/text.js';
import type { View } from '../output/view.js';
import { LIST_OPTIONS, printList, WATCH_OPTION } from './listing.js';

const AGENTS: View<AgentView> = {
  plural: 'agents',
  name: ({ agentId }) => agentId,
  columns: [
    { title: 'AGENT', whole: true, value: ({ agentId }) => agentId },
    { title: 'STATUS', value: ({ status }) => status, state: true },
    { title: 'CAPABILITIES', value: ({ capabilities }) => capabilities.join(',') },
    { title: 'CIRCUIT', value: ({ health }) => health.circuitBreakerState, state: true },
    { title: 'LOAD', value: ({ load }) => `${load.inFlight}/${load.capacity ?? '∞'}`, right: true },
    { title: 'TOKENS LEFT', value: ({ budget }) => count(budget.remaining), right: true },
    { title: 'BEAT', value: ({ health }, now) => age(health.lastHeartbeat, now), right: true },
    { title: 'NAME', whole: true, value: ({ name }) => name, wide: true },
    { title: 'WORK', value: ({ work, endpoint }) => endpoint ?? work, wide: true },
    {
      title: 'LABELS',
      value: ({ labels }) =>
        Object.entries(labels)
          .map((pair) => pair.join('='))
          .join(','),
      wide: true,
    },
    { title: 'VERSION', value: ({ version }) => version, wide: true },
    { title: 'GENERATION', value: ({ generation }) => generation, wide: true, right: true },
    { title: 'REGISTERED', value: ({ registeredAt }, now) => age(registeredAt, now), wide: true, right: true },
    { title: 'LEFT', value: ({ leaveReason }) => leaveReason, wide: true },
  ],
};

const CANDIDATES: View<CandidateView> = {
  plural: 'candidates',
  name: ({ agent }) => agent.agentId,
  columns: [
    { title: 'RANK', value: ({ rank }) => rank, right: true },
    { title: 'AGENT', value: ({ agent }) => agent.agentId },
    { title: 'SCORE', value: ({ score }) => score, right: true },
    { title: 'MARKS', value: ({ marks }) => marks.join(',') },
    { title: 'REASONS', whole: true, value: ({ reasons }) => reasons.join('; ') },
  ],
};

const HOSTED: View<HostedAgentView> = {
  plural: 'hosted agents',
  name: ({ name }) => name,
  columns: [
    { title: 'NAME', value: ({ name }) => name },
    { title: 'STATE', value: ({ state }) => state, state: true },
    {
      title: 'DEFINITION',
      value: ({ definition, revision }) => (definition === null ? null : `${definition}@${revision}`),
    },
    { title: 'PROVIDER', value: ({ provider }) => provider },
    { title: 'IN FLIGHT', value: ({ inFlight }) => inFlight, right: true },
    { title: 'AGE', value: ({ spawnedAt }, now) => age(spawnedAt, now), right: true },
    { title: 'REPLICA', value: ({ replicaId }) => replicaId, wide: true },
    { title: 'BY', value: ({ spawnedBy }) => spawnedBy, wide: true },
  ],
};

const NOTE = { note: option.text('TEXT', 'Why; it is stored in the audit log.') } as const;
const noteOf = (note: string | undefined): { note?: string } => (note === undefined ? {} : { note });

export const agentCommands = [
  command({
    name: 'agents list',
    about: 'List agents.',
    example: 'rollcall agents list --capability build -o wide',
    permission: 'agents:read',
    options: {
      status: option.text('STATUS', 'Only agents with this status.', {
        choices: ['active', 'suspect', 'draining', 'quarantined', 'left'],
      }),
      capability: option.text('NAME', 'Only agents with this capability.'),
      ...LIST_OPTIONS,
      ...WATCH_OPTION,
    },
    run: async (session, _, { status, capability, ...options }) => {
      const client = await session.client();
      const filter = { ...(status && { status }), ...(capability !== undefined && { capability }) };
      await printList(session, AGENTS, () => client.agents.list(filter), options);
    },
  }),
  command({
    name: 'agents get',
    about: 'Show an agent.',
    example: 'rollcall agents get $AGENT',
    permission: 'agents:read',
    arguments: { id: 'Id of the agent.' },
    run: async ({ client, output }, { id }) => await output.item(AGENTS, await (await client()).agents.get(id)),
  }),
  command({
    name: 'agents query',
    about: 'Rank the agents that can do a task.',
    details:
      'It reserves and starts nothing. The first candidate is the one that a run with these capabilities would use.',
    example: 'rollcall agents query build --prefer cheapest --explain',
    permission: 'agents:query',
    arguments: { 'capabilities...': 'Capabilities that the agent must have.' },
    options: {
      prefer: option.text('STRATEGY', 'How candidates are ranked, such as cheapest or fastest.'),
      task: option.text('TEXT', 'The task, for strategies that read it.'),
      provider: option.text('TYPE', 'Only agents of this provider.'),
      maxUsdPerTask: option.number('USD', 'Only agents that cost at most this.'),
      minTokens: option.number('COUNT', 'Only agents that have this many tokens left.'),
      limit: option.number('COUNT', 'At most this many candidates.'),
      fuzzy: option.flag('Also agents with similar capabilities.'),
      explain: option.flag('Also print why other agents are excluded.'),
    },
    run: async (session, { capabilities }, options) => await query(session, capabilities, options),
  }),
  command({
    name: 'agents spawn',
    about: 'Start an agent that Rollcall hosts, from a definition.',
    example: 'rollcall agents spawn clerk --name $NEW',
    permission: 'agents:spawn',
    arguments: { definition: 'Name of the definition.' },
    options: { name: option.text('NAME', 'Name of the agent (default: a new one).') },
    run: async ({ client, output }, { definition }, { name }) => {
      const hosted = await (await client()).runtime.spawn({ definition, ...(name !== undefined && { name }) });
      await output.done(`Spawned ${hosted.name}.`, HOSTED, hosted);
    },
  }),
  command({
    name: 'agents hosted',
    about: 'List the agents that Rollcall hosts.',
    example: 'rollcall agents hosted',
    permission: 'agents:read',
    options: { ...LIST_OPTIONS, ...WATCH_OPTION },
    run: async (session, _, options) => {
      const client = await session.client();
      await printList(session, HOSTED, () => client.runtime.listAgents({}), options);
    },
  }),
  command({
    name: 'agents shutdown',
    about: 'Stop an agent that Rollcall hosts.',
    details: 'The agent finishes its work first, for as long as --within allows.',
    example: 'rollcall agents shutdown $HOSTED --yes',
    permission: 'agents:spawn',
    destroys: true,
    arguments: { name: 'Name of the hosted agent.' },
    options: { within: option.number('MS', 'Milliseconds in which it may finish its work.') },
    run: async ({ client, output, confirm }, { name }, { within }) => {
      await confirm(`Shut down ${name}?`);
      const report = await (
        await client()
      ).runtime.shutdownAgent(name, within === undefined ? {} : { timeoutMs: within });
      const how = report.forced ? 'by force' : 'in order';
      await output.done(
        `${name} was stopped ${how} after ${report.durationMs} ms.`,
        { name: () => name },
        { name, ...report },
      );
    },
  }),
  command({
    name: 'agents drain',
    about: 'Give an agent no new work. It finishes what it has.',
    example: 'rollcall agents drain $AGENT --note "new version"',
    permission: 'agents:operate',
    arguments: { id: 'Id of the agent.' },
    options: NOTE,
    run: async ({ client, output }, { id }, { note }) => {
      const agent = await (await client()).agents.drain(id, noteOf(note));
      await output.done(`${id} is ${agent.status}.`, AGENTS, agent);
    },
  }),
  command({
    name: 'agents quarantine',
    about: 'Give an agent no work at all.',
    example: 'rollcall agents quarantine $AGENT --note "wrong answers"',
    permission: 'agents:operate',
    arguments: { id: 'Id of the agent.' },
    options: NOTE,
    run: async ({ client, output }, { id }, { note }) => {
      const agent = await (await client()).agents.quarantine(id, noteOf(note));
      await output.done(`${id} is ${agent.status}.`, AGENTS, agent);
    },
  }),
  command({
    name: 'agents resume',
    about: 'Give a draining or quarantined agent work again.',
    example: 'rollcall agents resume $AGENT',
    permission: 'agents:operate',
    arguments: { id: 'Id of the agent.' },
    options: NOTE,
    run: async ({ client, output }, { id }, { note }) => {
      const agent = await (await client()).agents.resume(id, noteOf(note));
      await output.done(`${id} is ${agent.status}.`, AGENTS, agent);
    },
  }),
  command({
    name: 'agents evict',
    about: 'End the registration of an agent.',
    details: 'A running agent registers again. To stop its work, use `rollcall agents quarantine`.',
    example: 'rollcall agents evict $AGENT --yes',
    permission: 'agents:operate',
    destroys: true,
    arguments: { id: 'Id of the agent.' },
    run: async ({ client, output, confirm }, { id }) => {
      await confirm(`Evict ${id}?`);
      await (await client()).agents.evict(id);
      await output.done(`${id} was evicted.`, { name: () => id }, { agentId: id, evicted: true });
    },
  }),
];

interface QueryOptions {
  readonly prefer: string | undefined;
  readonly task: string | undefined;
  readonly provider: string | undefined;
  readonly maxUsdPerTask: number | undefined;
  readonly minTokens: number | undefined;
  readonly limit: number | undefined;
  readonly fuzzy: boolean;
  readonly explain: boolean;
}

async function query({ client, output }: Session, capabilities: string[], options: QueryOptions): Promise<void> {
  const { prefer, task, provider, maxUsdPerTask, minTokens, limit, fuzzy, explain } = options;
  const ranking = await (
    await client()
  ).agents.query({
    capabilities,
    filter: {
      ...(provider !== undefined && { provider: { type: provider } }),
      ...(maxUsdPerTask !== undefined && { maxUsdPerTask }),
      ...(minTokens !== undefined && { minRemainingTokens: minTokens }),
    },
    ...(prefer !== undefined && { prefer }),
    ...(task !== undefined && { task }),
    ...(limit !== undefined && { limit }),
    ...(fuzzy && { fuzzy }),
    ...(explain && { explain }),
  });
  await output.list(CANDIDATES, ranking.candidates);
  for (const line of (ranking.excluded ?? []).map(exclusionText)) output.note(line);
}

function exclusionText({ agentId, exclusions }: ExcludedAgentView): string {
  return `excluded: ${agentId}: ${exclusions.map(({ text: reason, eligibleWhen }) => `${reason} (until ${eligibleWhen.text})`).join('; ')}`;
}
