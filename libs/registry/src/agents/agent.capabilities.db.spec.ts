import { leaseTtlMs, suspectAfterMs, DEFAULT_LEASE_POLICY } from '../leases/lease.policy.js';
import { REPORTER } from '../testing/given-agents.js';
import { TwoReplicas } from '../testing/index.js';

let replicas: TwoReplicas;
beforeEach(async () => (replicas = await TwoReplicas.start()));
afterEach(async () => await replicas.stop());

/** The type and the capabilities of each logged event of these types. */
async function capabilitiesOf(...types: string[]): Promise<unknown[]> {
  return (await replicas.loggedEvents(...types)).map(({ type, capabilities }) => [type, capabilities.toSorted()]);
}

describe('the capabilities in an event', () => {
  it('B3 the events of an agent that becomes suspect, recovers or leaves include its capabilities', async () => {
    const { here } = replicas;
    const joined = await replicas.given.agent({ agentId: 'a-1', capabilities: ['build', 'plan'] });
    await here.sweeper.sweep();
    await replicas.silence(suspectAfterMs(DEFAULT_LEASE_POLICY) + 100, 'a-1');
    await here.sweeper.sweep();
    await here.heartbeats.beatAll([joined.credential]);
    await here.sweeper.sweep();
    await replicas.silence(leaseTtlMs(DEFAULT_LEASE_POLICY) + 100, 'a-1');
    await here.sweeper.sweep();
    expect(await capabilitiesOf('agent.suspect', 'agent.recovered', 'agent.left')).toEqual([
      ['agent.suspect', ['build', 'plan']],
      ['agent.recovered', ['build', 'plan']],
      ['agent.left', ['build', 'plan']],
    ]);
  });

  it('B3 the events of a circuit that opens or closes include the capabilities of the agent', async () => {
    const { circuits } = replicas.here;
    await replicas.given.agent({ agentId: 'a-1', circuit: 'open' });
    await replicas.database.db.query(`UPDATE agent_circuit SET state = jsonb_set(state, '{openUntil}', '1')`);
    await circuits.report('a-1', { ok: true }, REPORTER);
    expect(await capabilitiesOf('circuit.opened', 'circuit.half_opened', 'circuit.closed')).toEqual([
      ['circuit.opened', ['build']],
      ['circuit.half_opened', ['build']],
      ['circuit.closed', ['build']],
    ]);
  });

  it('B3 the event of a replaced registration includes the capabilities of that registration', async () => {
    const { leaseToken } = await replicas.given.agent({ agentId: 'a-1', capabilities: ['build'] });
    await replicas.given.agent({ agentId: 'a-1', capabilities: ['review'], leaseToken });
    expect(await capabilitiesOf('agent.joined', 'agent.left')).toEqual([
      ['agent.joined', ['build']],
      ['agent.left', ['build']],
      ['agent.joined', ['review']],
    ]);
  });

  it('B3 the event of an update includes the old and the new capabilities', async () => {
    const joined = await replicas.given.agent({ agentId: 'a-1', capabilities: ['build', 'plan'] });
    await replicas.here.agents.update(joined.credential, { capabilities: ['plan', 'review'] });
    expect(await capabilitiesOf('agent.updated')).toEqual([['agent.updated', ['build', 'plan', 'review']]]);
  });
});
