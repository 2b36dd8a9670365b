import { rmSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { Client } from 'pg';
import type { CloudEvent } from '#rollcall/platform';
import { dropDatabase, emptyDatabase } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import type { AgentView } from '../../apps/api/src/agents/agent.view.js';
import type { RankingView } from '../../apps/api/src/agents/discovery/ranking.view.js';
import type { BudgetPage, BudgetView } from '../../apps/api/src/budgets/budget.view.js';
import { call } from '../support/call.js';
import { Given } from '../support/given.js';
import { factsOf, type LoadedAgent } from '../support/loaded-agent.js';
import { NamespaceStorm } from '../support/namespace-storm.js';
import { newFolder } from '../support/process.js';
import { Replicas } from '../support/replicas.js';
import { ResumingConsumer } from '../support/resuming-consumer.js';
import { createTeams, type ObservedTeam, SHARED_CAPABILITY } from '../support/team.js';
import type { OutcomePage } from '../../apps/api/src/agents/operation/circuits.controller.js';

const KEY = 'k'.repeat(40);
const NAMESPACES = ['default', 'team-a', 'team-b'];
const AGENTS = 20;
const KILLS = 2;
/** Calls to the agents with even numbers fail in this namespace. */
const FAILING = 'team-b';
/** The last agent sends no heartbeats in this namespace. */
const SILENT = 'team-a';

let folder: string;
let url: string;
let db: Client;
let replicas: Replicas;
let storm: NamespaceStorm;
let teams: ObservedTeam[];
let consumers: ResumingConsumer[];

beforeAll(async () => {
  folder = newFolder();
  url = await emptyDatabase();
  db = new Client({ connectionString: url });
  await db.connect();
  const environment = {
    DATABASE_URL: url,
    ROLLCALL_DATA_DIR: folder,
    ROLLCALL_ADMIN_KEY: KEY,
    ROLLCALL_HEARTBEAT_EVERY: '8s', // a busy machine must not delay a heartbeat beyond the lease
    ROLLCALL_RATE_LIMIT: '0',
    ROLLCALL_CONCURRENT_REQUESTS: '0',
  };
  const constants = {
    circuit: { failuresToOpen: 3, coolDownMs: 300_000 }, // longer than the test, so that circuits stay open
    flapping: { suppressAt: 100_000 }, // agents register again often, and must not be suppressed
  };
  replicas = await Replicas.start(2, environment, constants);
  teams = await createTeams(Given.at(replicas.nextUrl(), KEY), NAMESPACES, (namespace) => ({
    fails: (index) => namespace === FAILING && index % 2 === 0,
    isSilent: (index) => namespace === SILENT && index === AGENTS - 1,
  }));
  consumers = teams.map(({ viewerKey }) => new ResumingConsumer(replicas, viewerKey).start());
  storm = new NamespaceStorm(replicas, teams, AGENTS);
  await storm.start();
  for (let kill = 0; kill < KILLS; kill++) {
    await storm.steps(1);
    await replicas.killAndStart(kill % 2);
  }
  await storm.steps(1);
  await storm.endLoad();
});
afterAll(async () => {
  try {
    await storm?.end();
  } finally {
    await Promise.all(consumers?.map(async (consumer) => await consumer.stop()) ?? []);
    await replicas?.end();
    await db?.end();
    rmSync(folder, { recursive: true, force: true });
    await dropDatabase(url);
  }
});

async function get<Body>(at: string, path: string, key: string): Promise<Body> {
  return (await call<Body>(at, 'GET', path, { key })).body;
}

/** Waits until both replicas return the expected value; a difference is shown as in `toEqual`. */
async function bothReturn(read: (at: string) => Promise<unknown>, expected: unknown): Promise<void> {
  for (const at of replicas.urls) {
    let last: unknown;
    const isExpected = async (): Promise<boolean> => isDeepStrictEqual((last = await read(at)), expected);
    await until('the replica returns the expected value', isExpected).catch(() => undefined);
    expect(last).toEqual(expected);
  }
}

describe('the same agentIds in three namespaces, on two replicas that are killed under load', () => {
  it('requests without a response are repeated on the other replica, and each consumer resumes at least once', () => {
    expect(replicas.urls).toHaveLength(2);
    expect(replicas.lost).toBeGreaterThan(0);
    for (const { connections } of consumers) expect(connections).toBeGreaterThan(1);
  });

  it('a silent agent is evicted; heartbeats for the same agentId in other namespaces do not renew its lease', async () => {
    const evicted = async (): Promise<object[]> => {
      const sql = `SELECT namespace, subject FROM event_log WHERE type = 'agent.left' AND data->>'reason' = 'evicted'`;
      return (await db.query<object>(sql)).rows;
    };
    await until('an agent is evicted', async () => (await evicted()).length > 0);
    expect(await evicted()).toEqual(storm.silent.map(({ agentId }) => ({ namespace: SILENT, subject: agentId })));
  });

  it.each(['directory', 'strong'])(
    'a query (%s) finds exactly the agents of its namespace, with their own values',
    async (consistency) => {
      const body = { capabilities: [SHARED_CAPABILITY], limit: 100, consistency, explain: true };
      for (const { namespace, callerKey: key } of teams) {
        const agents = storm.of(namespace);
        const found = agents.filter(({ fails }) => !fails).map(({ expected }) => expected);
        const evicted = namespace === SILENT ? storm.silent : [];
        const excluded = [...agents.filter(({ fails }) => fails), ...evicted].map(({ agentId }) => agentId).toSorted();
        await bothReturn(
          async (at) => {
            const ranking = (await call<RankingView>(at, 'POST', '/v1/agents/query', { key, body })).body;
            const byId = ranking.candidates.map(({ agent }) => agent).toSorted(byAgentId);
            return {
              found: byId.map(factsOf),
              excluded: (ranking.excluded ?? []).map(({ agentId }) => agentId).toSorted(),
            };
          },
          { found, excluded },
        );
      }
    },
  );

  it('a list has exactly the agents of its namespace, with their own values', async () => {
    for (const { namespace, viewerKey } of teams) {
      const expected = storm.of(namespace).map((agent) => agent.expected);
      const path = '/v1/agents?limit=100';
      await bothReturn(
        async (at) => (await get<{ items: AgentView[] }>(at, path, viewerKey)).items.map(factsOf),
        expected,
      );
    }
  });

  it('each lease belongs to the last registration in its own namespace', async () => {
    const { rows } = await db.query<{ namespace: string; id: string; generation: string; token: boolean }>(
      `SELECT namespace, agent_id AS id, lease.generation, lease.token_hash = agent.token_hash AS token
       FROM agent JOIN agent_lease AS lease USING (agent_id) WHERE left_at IS NULL ORDER BY agent_id`,
    );
    for (const namespace of NAMESPACES) {
      const prefix = namespace === 'default' ? '' : `${namespace}/`;
      const expected = storm.of(namespace).map(({ agentId, registration }) => {
        return { namespace, id: prefix + agentId, generation: String(registration.generation), token: true };
      });
      expect(rows.filter((row) => row.namespace === namespace)).toEqual(expected);
    }
    expect(rows).toHaveLength(storm.agents.length);
  });

  const usageOf = ({ namespace, subject, usage, reserved }: BudgetView): object => {
    return { namespace, subject, used: usage.subtree, reserved };
  };
  const spent = (namespace: string, subject: string, amount: number): object => {
    return { namespace, subject, used: { tokens: amount, microUsd: amount }, reserved: { tokens: 0, microUsd: 0 } };
  };
  const total = (agents: LoadedAgent[]): number => agents.reduce((sum, { settledAmount }) => sum + settledAmount, 0);
  const budgets = async (at: string, kind: string, key: string): Promise<object[]> => {
    const { items } = await get<BudgetPage>(at, `/v1/budgets?limit=100&kind=${kind}`, key);
    return items.toSorted(bySubject).map(usageOf);
  };

  it('each budget of an agent is charged exactly the amount that was settled for the agent in its namespace', async () => {
    for (const { namespace, viewerKey } of teams) {
      const agents = [...storm.of(namespace), ...storm.silent.filter(({ team }) => team.namespace === namespace)];
      const expected = agents.map(({ agentId, settledAmount }) => spent(namespace, agentId, settledAmount));
      await bothReturn(async (at) => await budgets(at, 'agent', viewerKey), expected);
    }
  });

  it('the budget of a namespace is charged exactly the amount that was settled in the namespace', async () => {
    for (const { namespace, viewerKey } of teams) {
      const expected = [spent(namespace, namespace, total(storm.of(namespace)))];
      await bothReturn(async (at) => await budgets(at, 'namespace', viewerKey), expected);
    }
  });

  it('the budget of the fleet is charged what was settled in all namespaces, and the counters equal the ledger', async () => {
    const headers = { 'rollcall-namespace': '*' };
    for (const at of replicas.urls) {
      const fleet = await call<BudgetPage>(at, 'GET', '/v1/budgets?kind=fleet', { key: KEY, headers });
      expect(fleet.body.items.map(usageOf)).toEqual([spent('*', 'fleet', total(storm.agents))]);
      const { body } = await call(at, 'GET', '/v1/budgets/reconciliation', { key: KEY, headers });
      expect(body['discrepancies']).toEqual([]);
      expect(body['checked']).toBeGreaterThanOrEqual(storm.agents.length + NAMESPACES.length + 1);
    }
  });

  it('circuits open only for the agents whose calls fail in their own namespace', async () => {
    for (const { namespace, viewerKey } of teams) {
      const expected = storm.of(namespace).map(({ agentId, fails }) => [agentId, fails ? 'open' : 'closed', fails]);
      await bothReturn(async (at) => {
        const { items } = await get<{ items: AgentView[] }>(at, '/v1/agents?limit=100', viewerKey);
        return items.map(({ agentId, health }) => [
          agentId,
          health.circuitBreakerState,
          health.consecutiveFailures > 0,
        ]);
      }, expected);
    }
    const { rows } = await db.query<{ namespace: string; reporters: { name: string }[] }>(
      `SELECT namespace, data->'reporters' AS reporters FROM event_log WHERE type LIKE 'circuit.%'`,
    );
    expect(rows).toHaveLength(storm.agents.filter(({ fails }) => fails).length);
    const names = rows.flatMap(({ namespace, reporters }) => reporters.map(({ name }) => `${namespace}: ${name}`));
    expect(new Set(names)).toEqual(new Set([`${FAILING}: ${FAILING} caller`]));
  });

  it('the outcomes of an agent come from callers of its own namespace', async () => {
    for (const { team, agentId, fails, steps } of storm.agents) {
      const path = `/v1/agents/${agentId}/outcomes`;
      const { items } = await get<OutcomePage>(replicas.nextUrl(), path, team.callerKey);
      expect(items.length).toBeGreaterThanOrEqual(Math.min(steps, 20));
      const reported = new Set(items.map(({ reporter, ok, latencyMs }) => `${reporter.name} ${ok} ${latencyMs}`));
      expect(reported).toEqual(new Set([`${team.namespace} caller ${!fails} ${team.mark * 100}`]));
    }
  });

  /** Waits until the consumer of a namespace has received all events that the log has now, and returns both. */
  async function eventsOf(namespace: string): Promise<{ logged: string[]; received: CloudEvent[] }> {
    const sql = 'SELECT seq, id FROM event_log WHERE namespace = $1 ORDER BY seq';
    const { rows } = await db.query<{ seq: string; id: string }>(sql, [namespace]);
    const consumer = consumers[NAMESPACES.indexOf(namespace)];
    const last = Number(rows.at(-1)?.seq);
    await until('the consumer has the last event', () => Number(consumer.events.at(-1)?.sequence) >= last);
    const received = consumer.events.filter(({ sequence }) => Number(sequence) <= last);
    return { logged: rows.map(({ seq, id }) => `${seq} ${id}`), received };
  }

  it.each(NAMESPACES)(
    'the consumer of %s receives each event of its namespace once and in order, and no other event',
    async (name) => {
      const { logged, received } = await eventsOf(name);
      expect(received.map(({ sequence, id }) => `${Number(sequence)} ${id}`)).toEqual(logged);
      expect(new Set(received.map(({ namespace }) => namespace))).toEqual(new Set([name]));
    },
  );

  it('the log of all namespaces together has no gap', async () => {
    const { rows } = await db.query<{ seq: string }>('SELECT seq FROM event_log ORDER BY seq');
    expect(rows.map(({ seq }) => Number(seq))).toEqual(rows.map((_, index) => index + 1));
  });

  it.each(NAMESPACES)('the events of %s contain each registration of its agents once', async (name) => {
    const joined = (await eventsOf(name)).received.filter(({ type }) => type === 'dev.rollcall.agent.joined');
    const own = [...storm.agents, ...storm.silent].filter(({ team }) => team.namespace === name);
    for (const { agentId, index, registration } of own) {
      const registrations = joined.filter(({ subject }) => subject === agentId).map(({ data }) => data);
      const generations = Array.from({ length: registration.generation }, (_, before) => before + 1);
      const expected = generations.map((generation) => ({ generation, name: `${name} ${index}` }));
      expect(registrations).toMatchObject(expected);
    }
  });
});

const byAgentId = (a: { agentId: string }, b: { agentId: string }): number => (a.agentId < b.agentId ? -1 : 1);
const bySubject = (a: { subject: string }, b: { subject: string }): number => (a.subject < b.subject ? -1 : 1);
