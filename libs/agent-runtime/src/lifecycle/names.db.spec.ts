import { until } from '#rollcall/test-support';
import { BY, codeOf, define, fakeContent, NAMESPACE, spawn, type TestHost, TestHosts } from '../testing/test-hosts.js';

let hosts: TestHosts;
let here: TestHost;
let there: TestHost;
beforeAll(async () => {
  hosts = await TestHosts.start();
  here = await hosts.add();
  there = await hosts.add();
});
beforeEach(async () => await hosts.reset());
afterAll(async () => await hosts.stop());

const ADA = { namespace: NAMESPACE, name: 'ada' };
const TAKEN = 'AGENT_ALREADY_EXISTS';
const ROUNDS = 20;
const CONCURRENT = 15;

const register = async (on: TestHost, name = 'ada'): Promise<string> => await codeOf(define(on, name));

describe('definitions and spawned agents share their names', () => {
  it('S1.2 a definition cannot get the name of a live agent that was not built from it', async () => {
    await define(here, 'base');
    await spawn(here, 'ada');
    await spawn(here, 'bob', { definition: 'base', content: undefined });
    expect([await register(there), await register(there, 'bob')]).toEqual([TAKEN, TAKEN]);
    await here.lifecycle.shutdown(ADA);
    expect(await register(there)).toBe('succeeded');
  });

  it('S1.2 an import rejects a definition with the name of a live agent, and registers the other definitions', async () => {
    await spawn(here, 'ada');
    const files = ['ada', 'bob'].map((name) => ({
      path: `${name}.md`,
      content: `---\nname: ${name}\ndescription: d\n---\nx`,
    }));
    const prepared = await there.imports.prepare({ namespace: NAMESPACE, by: BY, files, strict: false });
    const report = await there.imports.write(prepared);
    expect(JSON.stringify(report)).toContain('A live agent has the name');
    expect(await here.definitions.has(ADA)).toBe(false);
    expect(await here.definitions.has({ ...ADA, name: 'bob' })).toBe(true);
  });

  it('S1.2 if a definition and an agent that is not built from it get the same name at the same time, exactly one succeeds', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const name = `ada-${round}`;
      const work = [async () => await codeOf(spawn(here, name)), async () => await register(there, name)];
      const codes = await Promise.all((round % 2 === 0 ? work : work.toReversed()).map(async (one) => await one()));
      expect(codes.filter((code) => code === 'succeeded')).toHaveLength(1);
      expect(codes.filter((code) => [TAKEN, 'AGENT_NAME_RESERVED'].includes(code))).toHaveLength(1);
    }
  });

  it('an evicted agent is closed if a definition now has its name', async () => {
    await spawn(here, 'ada');
    await there.agents.remove('ada', 'evicted');
    expect(await register(there)).toBe('succeeded');
    await here.beats.pass();
    expect(here.fake.open).toHaveLength(0);
  });
});

describe('an evicted agent whose name is locked', () => {
  it('stays open, and registers again when the lock is released', async () => {
    const impatient = await hosts.add({ operationTimeoutMs: 1_000 });
    await spawn(impatient, 'ada');
    await there.agents.remove('ada', 'evicted');
    const { db } = hosts.database;
    await db.transaction(async () => {
      await db.query(`SELECT pg_advisory_xact_lock(hashtextextended('rollcall.definitions', 0))`);
      await impatient.beats.pass();
    });
    expect([impatient.fake.open.length, await there.lifecycle.has(ADA)]).toEqual([1, false]);
    await until('it is registered again', async () => {
      await impatient.beats.pass();
      return await there.lifecycle.has(ADA);
    });
  });
});

describe('concurrent spawns of one name', () => {
  it.each([
    [TAKEN, 'a live agent', async () => void (await spawn(there, 'ada'))],
    ['DATABASE_BUSY', 'no live agent', async () => await Promise.resolve()],
  ])(
    'S1.2 a spawn that cannot lock its name is rejected with %s if %s has the name',
    async (code, _state, meanwhile) => {
      const impatient = await hosts.add({ operationTimeoutMs: 1_000 });
      const spawned = codeOf(spawn(impatient, 'ada', { content: fakeContent({ builds: 'slow' }) }));
      await until('it is under construction', () => impatient.fake.attempts === 1);
      await meanwhile();
      const { db } = hosts.database;
      await db.transaction(async () => {
        await db.query(`SELECT pg_advisory_xact_lock(hashtextextended('rollcall.definition:default/ada', 0))`);
        impatient.fake.proceed();
        await spawned;
      });
      expect(await spawned).toBe(code);
    },
  );

  it('S1.2 one succeeds and all others are rejected with AGENT_ALREADY_EXISTS, in each of 20 rounds', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const name = `ada-${round}`; // a name without an earlier registration: there is no row that a spawn could lock
      const spawns = Array.from(
        { length: CONCURRENT },
        async (_, index) => await codeOf(spawn(index % 2 === 0 ? here : there, name)),
      );
      const codes = (await Promise.all(spawns)).toSorted();
      expect(codes).toEqual([...Array.from({ length: CONCURRENT - 1 }, () => TAKEN), 'succeeded']);
    }
    expect([...here.fake.open, ...there.fake.open]).toHaveLength(ROUNDS);
  });
});
