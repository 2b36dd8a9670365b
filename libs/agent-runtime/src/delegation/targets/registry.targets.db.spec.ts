import { Logger } from '@nestjs/common';
import {
  A2aAgentProvider,
  AgentProviderRegistry,
  EgressPolicy,
  HttpAgentProvider,
  Keyring,
  message,
  Secret,
} from '#rollcall/providers';
import {
  type AgentScenario,
  FakeA2aServer,
  localEgress,
  type LocalServer,
  startFakeHttpAgent,
} from '#rollcall/providers/testing';
import { given, type TestRegistry, TwoReplicas } from '#rollcall/registry/testing';
import { freePort } from '#rollcall/test-support';
import { GuardedAgents } from '../../calls/guarded.agent.js';
import { paidAgent } from '../../calls/paid.call.js';
import { AgentNameStore } from '../../definitions/agent-name.store.js';
import { DefinitionStore } from '../../definitions/definition.store.js';
import { NamedAgents } from '../../definitions/named.agents.js';
import { LedgerSpending } from '../../spending/ledger.spending.js';
import { ReservationRecovery } from '../../spending/reservation.recovery.js';
import { RunReservations } from '../../spending/run.reservations.js';
import { unrecorded } from '../../spending/spending.js';
import { TestDelegation } from '../../testing/test-delegation.js';
import { aRun } from '../../testing/tool-calls.js';
import type { ToolOutput } from '../../tools/tool.executor.js';
import { NO_TASKS } from '../../testing/no-tasks.js';
import { AgentConnector } from './agent.connector.js';
import { RegistryTargets } from './registry.targets.js';

const KEY = 'sk-0123456789';
const ROOT = { runId: 'root', rootRunId: 'root' };

let replicas: TwoReplicas;
let here: TestRegistry;
let http: LocalServer;
let a2a: FakeA2aServer;
let connector: AgentConnector;
let spending: LedgerSpending;
let the: TestDelegation;
let targets: RegistryTargets;
let closing: { close(): Promise<void> }[];

beforeEach(async () => {
  Logger.overrideLogger(false);
  replicas = await TwoReplicas.start();
  ({ here } = replicas);
  await here.follower.follow();
  [http, a2a] = [await startFakeHttpAgent('ndjson'), await FakeA2aServer.start()];
  const egress = localEgress();
  closing = [http, a2a, egress];
  const keys = new Keyring({
    secrets: (name) => (name === 'AGENT_KEY' ? new Secret(KEY) : undefined),
    agents: { programs: {}, credentials: { AGENT_KEY: [new URL(http.url).origin] }, claude: {} },
    models: { default: 'echo', presets: { echo: { vendor: 'scripted', model: 'echo' } } },
  });
  const outbound = { fetch: egress.fetch, policy: new EgressPolicy({ allowLoopback: true }), secrets: keys.forAgents };
  const providers = new AgentProviderRegistry()
    .register(new HttpAgentProvider(outbound))
    .register(new A2aAgentProvider(outbound));
  connector = new AgentConnector(new GuardedAgents(providers, here.circuits, NO_TASKS), keys);
  const { ranker, directory, follower, clock } = here;
  const { budgets, ledger } = here.budgets;
  spending = new LedgerSpending(budgets, ledger, new ReservationRecovery(ledger));
  const nameStore = new AgentNameStore(replicas.database.db);
  const definitions = new DefinitionStore(replicas.database.db, nameStore);
  const named = new NamedAgents(definitions, nameStore, directory, follower, clock, here.strong);
  targets = new RegistryTargets(ranker, directory, follower, clock, connector, named);
  the = new TestDelegation({}, { targets, payment: { spending, externalTokens: 1_000 } });
  const limit = { tokens: 2_000, microUsd: null };
  await spending.openRun({ namespace: 'default', runId: 'root', parentRunId: null, limit });
});
afterEach(async () => {
  await connector.onApplicationShutdown();
  for (const one of closing) await one.close();
  await replicas.stop();
});

async function join(agentId: string, more: Parameters<TestRegistry['given']['agent']>[0] = {}): Promise<void> {
  await here.given.agent({ agentId, endpoint: http.url, capabilities: ['build'], ...more });
  await here.idle();
}

async function delegate(input: object, scenario: AgentScenario, run: object = {}): Promise<ToolOutput> {
  return await the.call('delegate_to_agent', { ...input, task: JSON.stringify(scenario) }, { ...ROOT, ...run });
}

const ANSWER: AgentScenario = { does: 'answer', pieces: ['built'], usage: { inputTokens: 100, outputTokens: 20 } };

describe('delegation to agents of the live registry', () => {
  it('S2.4 lists the agents that can receive work in the namespace of the run', async () => {
    await join('builder', { name: 'Builder' });
    await join('quarantined', { desiredState: 'quarantined' });
    await join('broken', { circuit: 'open' });
    await join('unreachable', { endpoint: null });
    await replicas.database.db.query(`INSERT INTO namespace (name, created_by) VALUES ('team-a', 'test')`);
    const facts = given.registration({ endpoint: http.url });
    await here.agents.register({ namespace: 'team-a', agentId: 'foreign', leaseToken: null, by: 'test', facts });
    await here.idle();
    const { output } = await the.call('list_agents', {}, ROOT);
    expect(output).toContain('{"name":"builder","description":"Builder; capabilities: build"}');
    expect(output).not.toMatch(/quarantined|broken|unreachable|foreign/);
    for (const agent of ['quarantined', 'broken', 'foreign', 'unreachable'])
      expect((await delegate({ agent }, ANSWER)).failed).toBe(true);
    expect(http.requests).toEqual([]);
  });

  it('S2.4 tells the model why an agent cannot receive work, and when it can', async () => {
    await join('quarantined', { desiredState: 'quarantined' });
    const { output } = await delegate({ agent: 'quarantined' }, ANSWER);
    expect(output).toMatch(
      /The agent quarantined cannot receive work now: .*\. It can receive work when an operator resumes it\. Use another agent\./,
    );
  });

  it('S2.4 S3.8 B2 calls an agent without a card over HTTP, with the key of its origin, and charges what it reports', async () => {
    await join('builder', { costModel: { usdPerTask: null, usdPer1kTokens: 0.01 } });
    const { failed, output } = await delegate({ agent: 'builder' }, ANSWER);
    expect([failed, output]).toEqual([false, expect.stringContaining('built')]);
    expect(http.requests[0]?.headers['authorization']).toBe(`Bearer ${KEY}`);
    expect(await spending.usageOf({ namespace: 'default', runId: 'root' })).toMatchObject({
      own: { tokens: 0 },
      subtree: { tokens: 120, microUsd: 1_200 },
    });
    await replicas.here.idle(); // the outcome is recorded after the call
    const { lastTaskAt, latency } = await replicas.there.agents.get('builder');
    expect([lastTaskAt, latency.observedMs]).toEqual([expect.any(String), expect.any(Number)]);
    expect(http.requests[0]?.body).toMatchObject({
      budget: { tokens: 1_000 },
      context: { depth: 1, rootRunId: 'root' },
    });
  });

  it('S2.4 calls an agent with a card over A2A, and sends it no key of another origin', async () => {
    await join('remote', { endpoint: a2a.url, agentCard: { name: 'remote' } });
    const { failed, output } = await delegate({ agent: 'remote' }, ANSWER);
    expect([failed, output]).toEqual([false, expect.stringContaining('built')]);
    expect(JSON.stringify(a2a.requests)).not.toContain(KEY);
  });

  it('S2.5 an agent with a capability is chosen by the ranking, and an ancestor is skipped', async () => {
    await join('cheap', { costModel: { usdPerTask: 0, usdPer1kTokens: null } });
    await join('expensive', { costModel: { usdPerTask: 0.001, usdPer1kTokens: null } });
    const chosen = async (run: object): Promise<string> =>
      (await delegate({ capabilities: ['build'], prefer: 'cheapest' }, ANSWER, run)).output;
    expect(await chosen({})).toContain('agent="cheap"');
    expect(await chosen({ ancestry: ['cheap'], depth: 1 })).toContain('agent="expensive"');
    expect(await chosen({ ancestry: ['cheap'], depth: 1, agentName: 'expensive' })).toContain('No other agent');
  });

  it('S2.4 if a definition restricts the subagents, only these are listed and found by capability', async () => {
    const names = Array.from({ length: 101 }, (_, at) => `cheap-${at}`);
    const costModel = { usdPerTask: 0, usdPer1kTokens: null };
    await Promise.all(
      names.map(async (agentId) => {
        await here.given.agent({ agentId, endpoint: http.url, capabilities: ['build'], costModel });
      }),
    );
    await join('allowed', { capabilities: ['build.rust'], costModel: { usdPerTask: 1, usdPer1kTokens: null } });
    await join('drained', { desiredState: 'draining' });
    const among = new Set(['allowed', 'drained', 'nobody']);
    expect((await targets.list(aRun(), among)).map(({ name }) => name)).toEqual(['allowed']);
    const found = await targets.open({ capabilities: ['build'], among }, aRun());
    expect(found?.name).toBe('allowed');
    await found?.close();
    const none = targets.open({ capabilities: ['build', 'paint'], among }, aRun());
    await expect(none).rejects.toMatchObject({ code: 'DELEGATION_TARGET_UNKNOWN' });
  });

  it('S3.8 B2 repeated failures to read the card open the circuit, and a call that was never sent costs nothing', async () => {
    await join('remote', { endpoint: `http://127.0.0.1:${await freePort()}`, agentCard: { name: 'remote' } });
    for (let failure = 0; failure < 5; failure += 1) {
      await spending.openRun({
        namespace: 'default',
        runId: `r${failure}`,
        parentRunId: null,
        limit: { tokens: 1_000, microUsd: null },
      });
      const { output } = await delegate({ agent: 'remote' }, ANSWER, {
        runId: `r${failure}`,
        rootRunId: `r${failure}`,
      });
      expect(output).toContain('outcome="failed"');
    }
    await replicas.here.idle(); // outcomes are recorded after the calls
    const { health } = await replicas.there.agents.get('remote');
    expect(health.circuitBreakerState).toBe('open');
    expect((await spending.usageOf({ namespace: 'default', runId: 'r0' })).subtree.tokens).toBe(0);
  });

  it('B2 refuses a delegation when the budget of the tree is used up, and does not call the agent', async () => {
    await join('builder');
    const root = { namespace: 'default', runId: 'root', agentId: null, callerId: null };
    const reservations = new RunReservations(spending, root, unrecorded(spending));
    const all = { amount: { tokens: 2_000, microUsd: 0 }, isUnpriced: true };
    await reservations.change([], [reservations.wanted('calls', all, () => undefined)]);
    const { failed, output } = await delegate({ agent: 'builder' }, ANSWER);
    expect([failed, output]).toEqual([true, expect.stringContaining('budget of this task is used up')]);
    expect(http.requests).toEqual([]);
    await reservations.close();
  });

  it('S-8 does not call an agent without a costModel if only the budget of the namespace limits money, and calls one with a price', async () => {
    const limit = { tokens: null, microUsd: 1_000_000 };
    await here.budgets.budgets.open({ kind: 'namespace', subject: 'default', limit, by: 'test' });
    await join('builder', { costModel: { usdPerTask: null, usdPer1kTokens: null } });
    const { failed, output } = await delegate({ agent: 'builder' }, ANSWER);
    expect([failed, output]).toEqual([true, expect.stringMatching(/limits money.*Register it with a costModel/)]);
    const found = await targets.open({ name: 'builder' }, aRun());
    const context = { ...aRun(), ...ROOT };
    const events = paidAgent(found!, { spending }).handle(message('Build.'), { context });
    await expect(events[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'AGENT_PRICE_UNKNOWN' });
    await found?.close();
    expect(http.requests).toEqual([]);
    await join('priced', { costModel: { usdPerTask: 0.001, usdPer1kTokens: null } });
    expect((await delegate({ agent: 'priced' }, ANSWER)).failed).toBe(false);
    const { subtree, reserved } = await spending.usageOf({ namespace: 'default', runId: 'root' });
    expect([subtree, reserved.tokens]).toEqual([{ tokens: 120, microUsd: 1_000 }, 0]);
  });

  it('S2.4 keeps a connection until its agent registers again or changes its address, and then closes it', async () => {
    await join('builder');
    const record = (): NonNullable<ReturnType<typeof here.directory.find>>['record'] =>
      here.directory.find('builder')!.record;
    const first = connector.connect(record());
    const second = connector.connect(record());
    expect(second?.agent).toBe(first?.agent);
    const moved = connector.connect({ ...record(), endpoint: `${http.url}/moved` });
    expect(moved?.agent).not.toBe(first?.agent);
    await first?.release();
    await first?.release();
    expect(first?.agent.state).toBe('idle');
    await second?.release();
    expect(first?.agent.state).toBe('closed');
    const next = connector.connect({ ...record(), endpoint: `${http.url}/moved`, generation: 99 });
    expect(next?.agent).not.toBe(moved?.agent);
    expect(connector.connect({ ...record(), endpoint: null })).toBeUndefined();
  });
});
