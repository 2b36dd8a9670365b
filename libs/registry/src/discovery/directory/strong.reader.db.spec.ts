import { CapabilityAliases } from '../capabilities/capability.aliases.js';
import { CandidateStore } from './candidate.store.js';
import type { AgentQuery } from '../ranking/agent.query.js';
import { DEFAULT_CIRCUIT_POLICY } from '../../circuit/circuit.breaker.js';
import { given } from '../../testing/given.js';
import { REPORTER } from '../../testing/given-agents.js';
import { testRegistry } from '../../testing/test-registry.js';
import { TwoReplicas } from '../../testing/two-replicas.js';

let replicas: TwoReplicas;
beforeEach(async () => {
  replicas = await TwoReplicas.start({
    directory: { aliases: new CapabilityAliases({ coding: 'code', rs: 'code.rust' }) },
  });
});
afterEach(async () => await replicas.stop());

/** Sends a query with a strong read to the second replica, which receives no events; also returns how many agents it read. */
async function ask(query: AgentQuery): Promise<{ found: string[]; read: number }> {
  const { there } = replicas;
  const read = await there.strong.prepare(query);
  const { candidates } = there.ranker.rank(query, there.clock.now());
  return { found: candidates.map(({ agent }) => agent.agentId), read };
}

/** A store that returns the plans of its statements instead of their rows. */
async function explainingStore(): Promise<CandidateStore> {
  const db = await replicas.database.connectAgain();
  const query = db.query.bind(db);
  db.query = async (sql, ...rest) => await query(`EXPLAIN ${String(sql)}`, ...rest);
  return new CandidateStore(db);
}

describe('a strong read of the whole fleet', () => {
  it('S3.6 concurrent callers share a read of the whole fleet, and no caller misses a write that was committed before its request', async () => {
    const { here, there } = replicas;
    await replicas.given.agent({ agentId: 'early' });
    const load = there.sync.load.bind(there.sync);
    let loads = 0;
    there.sync.load = async () => {
      loads += 1;
      const count = await load();
      if (loads === 1) await here.agents.setDesiredState('early', 'draining', null, 'key:op');
      return count;
    };
    const first = there.strong.prepare({});
    await replicas.given.agent({ agentId: 'late' });
    await Promise.all([first, ...Array.from({ length: 30 }, async () => await there.strong.prepare({}))]);
    expect(loads).toBe(2);
    expect(there.directory.find('early')?.record.desiredState).toBe('draining');
    expect(there.directory.find('late')).toBeDefined();
    expect(await there.strong.prepare({})).toBe(2);
    expect(loads).toBe(3);
  });

  it('S3.6 a strong read that fails rejects only the callers that wait for it', async () => {
    const { there } = replicas;
    await replicas.given.agent({ agentId: 'early' });
    const load = there.sync.load.bind(there.sync);
    there.sync.load = async () => {
      there.sync.load = load;
      throw new Error('unavailable');
    };
    const first = there.strong.prepare({});
    await expect(first).rejects.toThrow('unavailable');
    expect(await there.strong.prepare({})).toBe(1);
  });
});

describe('a strong read', () => {
  it('S3.11 finds what another replica has just written, without the event feed', async () => {
    await replicas.given.agent({ agentId: 'new' });
    expect(await ask({ capabilities: ['build'] })).toEqual({ found: ['new'], read: 1 });
    await replicas.here.agents.setDesiredState('new', 'quarantined', null, 'key:op');
    expect((await ask({ capabilities: ['build'] })).found).toEqual([]);
    await replicas.here.agents.setDesiredState('new', 'active', null, 'key:op');
    expect((await ask({ capabilities: ['build'] })).found).toEqual(['new']);
    await replicas.here.agents.remove('new', 'evicted');
    expect((await ask({ capabilities: ['build'] })).found).toEqual([]);
  });

  it('S3.6 finds an agent by the capabilities of its last update, and no longer by earlier ones', async () => {
    const credential = (await replicas.given.agent({ agentId: 'changing' })).credential;
    expect((await ask({ capabilities: ['build'] })).found).toEqual(['changing']);
    await replicas.here.agents.update(credential, { capabilities: ['review'] });
    expect((await ask({ capabilities: ['build'] })).found).toEqual([]);
    expect((await ask({ capabilities: ['review'] })).found).toEqual(['changing']);
  });

  it('S3.7 uses the load that was reported to another replica', async () => {
    const [one, two] = [await replicas.given.agent({ agentId: 'one' }), await replicas.given.agent({ agentId: 'two' })];
    const query = { capabilities: ['build'], prefer: 'least-loaded' };
    await replicas.here.heartbeats.beatAll([{ ...one.credential, loadRatio: 0.9 }]);
    expect((await ask(query)).found).toEqual(['two', 'one']);
    await replicas.here.heartbeats.beatAll([
      { ...one.credential, loadRatio: 0.1 },
      { ...two.credential, loadRatio: 0.9 },
    ]);
    expect(await ask(query)).toEqual({ found: ['one', 'two'], read: 0 });
  });

  it('S3.6 reads only matching agents that have changed, whatever the size of the fleet', async () => {
    for (let index = 0; index < 30; index++)
      await replicas.given.agent({ agentId: `other-${index}`, capabilities: ['plan'] });
    await replicas.given.agent({ agentId: 'match', capabilities: ['build', 'plan'] });
    expect(await ask({ capabilities: { all: ['build', 'plan'] } })).toEqual({ found: ['match'], read: 1 });
    expect(await ask({ capabilities: { all: ['build', 'plan'] } })).toEqual({ found: ['match'], read: 0 });
    expect(replicas.there.directory.size).toBe(1);
  });

  it('S3.12 finds agents by hierarchy, by alias and in any spelling', async () => {
    await replicas.given.agent({ agentId: 'rust', capabilities: ['Code.Rust'] });
    await replicas.given.agent({ agentId: 'alias', capabilities: ['coding . Go'] });
    await replicas.given.agent({ agentId: 'short', capabilities: ['RS'] });
    await replicas.given.agent({ agentId: 'other', capabilities: ['encode'] });
    expect((await ask({ capabilities: ['code'] })).found.toSorted()).toEqual(['alias', 'rust', 'short']);
    expect((await ask({ capabilities: { any: ['coding.rust', 'code.go'] } })).found.toSorted()).toEqual([
      'alias',
      'rust',
      'short',
    ]);
  });

  it('B1 an explanation after a strong read uses the stored records, even of agents that match only partly', async () => {
    await replicas.given.agent({ agentId: 'near', capabilities: ['build'] });
    await replicas.given.agent({ agentId: 'full', capabilities: ['build', 'plan'] });
    const query = { capabilities: ['build', 'plan'], explain: true };
    await replicas.there.strong.prepare(query);
    const { excluded } = replicas.there.ranker.rank(query, replicas.there.clock.now());
    expect(excluded).toMatchObject([{ agentId: 'near', exclusions: [{ code: 'capability_missing' }] }]);
  });

  it('S3.6 a query without capabilities reads the whole fleet', async () => {
    await replicas.given.agent({ agentId: 'one' });
    await replicas.given.agent({ agentId: 'two', capabilities: ['plan'] });
    expect(await ask({})).toEqual({ found: ['one', 'two'], read: 2 });
  });

  it('S3.6 uses the capability index of Postgres', async () => {
    const { db } = replicas.database;
    await replicas.given.agent({ agentId: 'wanted' });
    await db.query(
      `INSERT INTO agent SELECT (jsonb_populate_record(a, jsonb_build_object('agent_id', 'a' || n, 'capability_keys',
         jsonb_build_array('c' || n % 500)))).* FROM agent a, generate_series(1, 5000) n`,
    );
    await db.query(
      `INSERT INTO agent_lease SELECT (jsonb_populate_record(l, jsonb_build_object('agent_id', 'a' || n))).*
       FROM agent_lease l, generate_series(1, 5000) n`,
    );
    await db.query(`INSERT INTO agent_circuit (agent_id, state) SELECT 'a' || n, '{}' FROM generate_series(1, 5000) n`);
    await db.query('ANALYZE agent, agent_lease, agent_circuit');
    const plan = await (await explainingStore()).matching('default', [['c7']]);
    expect(JSON.stringify(plan)).toContain('agent_capability_keys');
  });
});

describe('a replica', () => {
  it('S3.10 a replica reads used tokens with the heartbeats, and no longer ranks an agent whose budget is used up', async () => {
    const { here } = replicas;
    const agent = await replicas.given.agent({
      agentId: 'spender',
      budget: { totalTokens: 1_000, usedTokens: 0, source: 'reported' },
    });
    await here.sync.idle();
    const ranked = (): number => here.ranker.rank({ capabilities: ['build'] }, here.clock.now()).candidates.length;
    expect(ranked()).toBe(1);
    await here.heartbeats.beatAll([{ ...agent.credential, usedTokens: 1_000 }]);
    await here.sync.readBeats();
    await here.sync.idle();
    expect(ranked()).toBe(0);
  });

  it('S3.10 a replica keeps the used tokens that a heartbeat reported if the ledger contains fewer', async () => {
    const { here } = replicas;
    const agent = await replicas.given.agent({
      agentId: 'spender',
      budget: { totalTokens: 1_000, usedTokens: 0, source: 'reported' },
    });
    await here.sync.idle();
    await here.heartbeats.beatAll([{ ...agent.credential, usedTokens: 600 }]);
    await here.sync.readBeats();
    await here.sync.idle();
    const used = (): number | undefined => here.directory.find('spender')?.record.budget.usedTokens;
    expect(used()).toBe(600);
    const { owner, key } = await here.budgets.ledger.reserve(given.reservation(10, { agentId: 'spender' }));
    await here.budgets.ledger.settle({ owner, key }, { tokens: 10, microUsd: 0 });
    expect([used(), (await here.agents.get('spender')).budget.usedTokens]).toEqual([600, 600]);
  });

  it('S3.10 a strong read returns the charges of other replicas, both by capability and for the whole fleet', async () => {
    const { here, there } = replicas;
    await replicas.given.agent({ agentId: 'spender', budget: { totalTokens: 1_000, usedTokens: 0, source: 'ledger' } });
    const left = async (query: AgentQuery): Promise<number | null | undefined> => {
      await there.strong.prepare(query);
      return there.directory.find('spender')?.record.budget.remaining;
    };
    expect(await left({ capabilities: ['build'] })).toBe(1_000);
    for (const [spent, query] of [{ capabilities: ['build'] }, {}].entries()) {
      const { owner, key } = await here.budgets.ledger.reserve(given.reservation(500, { agentId: 'spender' }));
      await here.budgets.ledger.settle({ owner, key }, { tokens: 500, microUsd: 0 });
      expect(await left(query)).toBe(500 - 500 * spent);
    }
    expect(await there.strong.prepare({ capabilities: ['build'] })).toBe(0);
  });

  it('S3.8 a replica uses the clock of the database for the end of a cool-down', async () => {
    const { there } = replicas;
    await replicas.given.agent({ agentId: 'cooling', circuit: 'open' });
    const query = { capabilities: ['build'] };
    await there.strong.prepare(query);
    const { candidates, retryAfterMs } = there.ranker.rank(query, there.clock.now());
    expect(candidates).toEqual([]);
    expect(retryAfterMs).toBeGreaterThan(0);
    expect(retryAfterMs).toBeLessThanOrEqual(10_000);
  });

  it('R-5 S3.8 a strong read includes a circuit that another replica has just opened', async () => {
    const { here } = replicas;
    await replicas.given.agent({ agentId: 'failing' });
    expect(await ask({ capabilities: ['build'] })).toEqual({ found: ['failing'], read: 1 });
    const { failuresToOpen } = DEFAULT_CIRCUIT_POLICY;
    for (let count = 0; count < failuresToOpen; count++) await here.circuits.report('failing', { ok: false }, REPORTER);
    expect(await ask({ capabilities: ['build'] })).toEqual({ found: [], read: 1 });
    expect(await ask({ capabilities: ['build'] })).toEqual({ found: [], read: 0 });
  });

  it('S3.11 a replica reads a change later if the read failed when the event arrived', async () => {
    const { db, connectAgain } = replicas.database;
    const third = await testRegistry(await connectAgain({ operationTimeoutMs: 1_500 }));
    await replicas.given.agent({ agentId: 'missed' });
    await db.transaction(async () => {
      await db.query('LOCK TABLE agent IN ACCESS EXCLUSIVE MODE');
      third.sync.scheduleRefresh(['missed']);
      await third.sync.idle();
      expect(third.directory.find('missed')).toBeUndefined();
    });
    await third.sync.exchangeChanges();
    await third.sync.idle();
    expect(third.directory.find('missed')).toBeDefined();
  });
});
