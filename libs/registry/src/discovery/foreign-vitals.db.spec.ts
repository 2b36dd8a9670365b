import { TwoReplicas } from '../testing/two-replicas.js';

let replicas: TwoReplicas;
beforeEach(async () => (replicas = await TwoReplicas.start()));
afterEach(async () => await replicas.stop());

describe('an agent that beats now at one replica and now at another', () => {
  beforeEach(async () => {
    const { here, there } = replicas;
    const claim = (await replicas.given.agent({ agentId: 'a-1' })).claim;
    await Promise.all([here.sync.load(), there.sync.load()]);
    await here.heartbeats.beatAll([{ ...claim, inFlight: 7 }]);
    await there.heartbeats.beatAll([claim]); // leaves out what it has told: that stays as it was
    await Promise.all([here.idle(), there.idle()]);
  });

  it('S3.7 is known by both to be as loaded as it told the other', async () => {
    await replicas.there.sync.readBeats();
    expect(replicas.there.directory.find('a-1')?.record.load.inFlight).toBe(7);
  });

  it('S3.7 is as loaded as it told, for a strong read', async () => {
    await replicas.there.strong.prepare({ capabilities: ['build'] });
    expect(replicas.there.directory.find('a-1')?.record.load.inFlight).toBe(7);
  });
});
