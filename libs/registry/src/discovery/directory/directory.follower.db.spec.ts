import { DatabaseUnavailableError, type EventLog } from '#rollcall/platform';
import { until } from '#rollcall/test-support';
import { TwoReplicas } from '../../testing/two-replicas.js';

let replicas: TwoReplicas;
/** The time of the test clock. */
let now: number;
/** While this is set, the second replica cannot read the log, as in a freeze. */
let gate: PromiseWithResolvers<void> | undefined;
let isUnavailable: boolean;

async function startReplicas(waitMs: number): Promise<void> {
  now = 0;
  gate = undefined;
  isUnavailable = false;
  replicas = await TwoReplicas.start({ follower: { clocks: [() => now], waitMs } });
  const { there } = replicas;
  interceptReads(there.events.log);
  await there.follower.follow();
  there.events.feed.start();
}

afterEach(async () => {
  release();
  await replicas.there.follower.close();
  await replicas.there.events.feed.stop();
  await replicas.stop();
});

function interceptReads(log: EventLog): void {
  const page = log.page.bind(log);
  log.page = async (...request) => {
    await gate?.promise;
    if (isUnavailable) throw new DatabaseUnavailableError('no connection');
    return await page(...request);
  };
}

function freeze(): void {
  gate = Promise.withResolvers();
}

function release(): void {
  gate?.resolve();
  gate = undefined;
}

async function leaveDuringFreeze(): Promise<void> {
  const { here, there } = replicas;
  const joined = await replicas.given.agent({ agentId: 'leaver' });
  await here.events.sequencer.runOnce();
  there.events.feed.wake();
  await until('the other replica lists the agent', () => there.directory.find('leaver') !== undefined);
  freeze();
  there.events.feed.wake();
  await here.agents.deregister(joined.credential);
  await here.events.sequencer.runOnce();
  now += 90_000;
}

describe('a directory that is behind the event log', () => {
  beforeEach(async () => await startReplicas(60_000));

  it('D10 a directory behind the log is not fresh, and after a refresh no longer lists an agent that left', async () => {
    const { there } = replicas;
    await leaveDuringFreeze();
    expect(there.directory.find('leaver')).toBeDefined();
    expect(there.follower.isFresh).toBe(false);
    release();
    await there.follower.refresh();
    expect(there.follower.isFresh).toBe(true);
    expect(there.directory.find('leaver')).toBeUndefined();
  });

  it('a directory is loaded again if an event that it must read has expired', async () => {
    const { here, there } = replicas;
    await leaveDuringFreeze();
    await replicas.given.agent({ agentId: 'last' });
    await here.events.sequencer.runOnce();
    await replicas.database.db.query(`UPDATE namespace SET limits = '{"eventsKept": 1}' WHERE name = 'default'`);
    expect(await here.events.pruner.expire()).toEqual({ expired: 2 });
    release();
    there.events.feed.wake();
    await until('the agent that left is not listed', () => there.directory.find('leaver') === undefined);
    await until('the other agent is listed', () => there.directory.find('last') !== undefined);
  });

  it('D10 a directory is used for a limited time while the database is unavailable, and reports its age', async () => {
    const { there } = replicas;
    isUnavailable = true;
    there.events.feed.wake();
    await until('a read of the log has failed', () => there.events.faults.length > 0);
    now += 30_000;
    await there.follower.refresh();
    expect([there.follower.isFresh, there.follower.ageMs() >= 30_000]).toEqual([false, true]);
    now += 60_000;
    await expect(there.follower.refresh()).rejects.toMatchObject({ code: 'DIRECTORY_STALE' });
    isUnavailable = false;
    await until('the directory has caught up', () => there.follower.isFresh);
  });

  it('D10 a directory that follows the log is fresh without a wait', async () => {
    const { there } = replicas;
    await there.follower.refresh();
    now += 4_000;
    expect(there.follower.isFresh).toBe(true);
    now += 20_000;
    await until('the directory has read the log again', () => there.follower.isFresh);
  });
});

describe('a directory that cannot catch up in time', () => {
  beforeEach(async () => await startReplicas(100));

  it('D10 a directory that cannot catch up in time rejects queries with DIRECTORY_STALE', async () => {
    await leaveDuringFreeze();
    await expect(replicas.there.follower.refresh()).rejects.toMatchObject({ code: 'DIRECTORY_STALE' });
  });
});

describe('a directory that follows the log', () => {
  beforeEach(async () => await startReplicas(60_000));

  it('applies the updates of this replica and of others to one agent, in any order', async () => {
    const { here, there } = replicas;
    const { credential } = await replicas.given.agent({ agentId: 'shared' });
    for (const [index, { agents }] of [here, there, there, here].entries()) {
      await agents.update(credential, { version: String(index) });
      if (index % 2 === 1) await here.events.sequencer.runOnce();
      there.events.feed.wake();
    }
    await until('the last update is applied', () => there.directory.find('shared')?.record.version === '3');
    await there.agents.update(credential, { version: 'own' });
    expect(there.directory.find('shared')?.record.version).toBe('own');
    await here.events.sequencer.runOnce();
    there.events.feed.wake();
    await here.agents.update(credential, { version: 'last' });
    await here.events.sequencer.runOnce();
    there.events.feed.wake();
    await until('the update of the other replica is applied', () => {
      return there.directory.find('shared')?.record.version === 'last';
    });
  });
});
