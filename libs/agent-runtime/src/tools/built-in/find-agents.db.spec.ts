import { given, TwoReplicas } from '#rollcall/registry/testing';
import { aRun, TestCalls } from '../../testing/tool-calls.js';
import { findAgentsToolBox } from './find-agents.toolbox.js';

let replicas: TwoReplicas;
beforeAll(async () => {
  replicas = await TwoReplicas.start();
  const { here, database } = replicas;
  await here.given.agent({ agentId: 'builder', name: 'Builder', capabilities: ['code.build'] });
  await here.given.agent({ agentId: 'quarantined', capabilities: ['code.build'], desiredState: 'quarantined' });
  await database.db.query(`INSERT INTO namespace (name, created_by) VALUES ('team-a', 'test')`);
  const facts = given.registration({ name: 'Foreign', capabilities: ['code.build', 'secret'] });
  await here.agents.register({ namespace: 'team-a', agentId: 'builder', leaseToken: null, by: 'test', facts });
  await replicas.here.idle();
});
afterAll(async () => await replicas.stop());

async function find(input: object, namespace = 'default'): Promise<{ failed: boolean; output: string }> {
  const { ranker, follower, clock } = replicas.here;
  return await new TestCalls(findAgentsToolBox({ ranker, follower, clock }), {}, aRun({ namespace })).call(
    'find_agents',
    input,
  );
}

/** The JSON inside the label. */
function listIn(output: string): unknown {
  return JSON.parse(/^<agent_list>\n(.*)\n<\/agent_list>$/.exec(output)?.[1] ?? '');
}

describe('the tool find_agents', () => {
  it('S2.2 S3.6 returns routable agents of the namespace of the run, with reasons', async () => {
    const { output, failed } = await find({ capabilities: ['code.build'] });
    expect(failed).toBe(false);
    const { agents } = listIn(output) as { agents: Record<string, unknown>[] };
    expect(agents).toHaveLength(1);
    expect(agents[0]).toMatchObject({ rank: 1, agentId: 'builder', name: 'Builder', capabilities: ['code.build'] });
    expect(agents[0]?.['reasons']).not.toEqual([]);
    expect(Object.keys(agents[0] ?? {})).toEqual(['rank', 'agentId', 'name', 'capabilities', 'marks', 'reasons']);
  });

  it('S2.2 finds nothing of another namespace, and does not reveal its capabilities', async () => {
    const { output } = await find({ capabilities: ['secret'] });
    expect(listIn(output)).toMatchObject({ agents: [], unclaimed: [{ capability: 'secret', similar: [] }] });
    expect((await find({}, 'team-a')).output).toContain('Foreign');
  });

  it('S2.2 suggests similar capabilities if no agent has the requested one', async () => {
    const { output } = await find({ capabilities: ['code.bild'] });
    expect(listIn(output)).toMatchObject({ agents: [], unclaimed: [{ similar: ['code.build', 'code'] }] });
  });

  it('S2.2 S3.7 reports an unknown strategy to the model, and lists the known strategies', async () => {
    const { output, failed } = await find({ prefer: 'prettiest' });
    expect(failed).toBe(true);
    expect(output).toContain('cheapest');
  });
});
