import { TwoReplicas } from '../../testing/two-replicas.js';

let replicas: TwoReplicas;
beforeEach(async () => (replicas = await TwoReplicas.start()));
afterEach(async () => await replicas.stop());

describe('an agent that sends heartbeats to two replicas', () => {
  beforeEach(async () => {
    const { here, there } = replicas;
    const credential = (await replicas.given.agent({ agentId: 'a-1' })).credential;
    await Promise.all([here.sync.load(), there.sync.load()]);
    await here.heartbeats.beatAll([{ ...credential, inFlight: 7 }]);
    await there.heartbeats.beatAll([credential]); // reports no load, so the last reported load stays
    await Promise.all([here.idle(), there.idle()]);
  });

  it('S3.7 a replica knows the load that an agent reported to another replica', async () => {
    await replicas.there.sync.readBeats();
    expect(replicas.there.directory.find('a-1')?.record.load.inFlight).toBe(7);
  });

  it('S3.7 a strong read returns the load that an agent reported to another replica', async () => {
    await replicas.there.strong.prepare({ capabilities: ['build'] });
    expect(replicas.there.directory.find('a-1')?.record.load.inFlight).toBe(7);
  });
});

describe('an agent that moves to another replica', () => {
  it('S3.7 the load that an agent reported before its move stays known, even if its next heartbeats follow immediately', async () => {
    const { here, there } = replicas;
    for (let round = 0; round < 20; round++) {
      const { credential } = await here.given.agent({ agentId: `moving-${round}` });
      await there.sync.load();
      await here.heartbeats.beatAll([{ ...credential, inFlight: 7 }]);
      await there.heartbeats.beatAll([credential]);
      await there.heartbeats.beatAll([credential]); // the lease is still being read because of the first heartbeat
      await there.idle();
      expect(there.directory.find(credential.agentId)?.record.load.inFlight).toBe(7);
    }
  });
});
