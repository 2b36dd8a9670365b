import type { LeaseCredential } from '../agents/agent.credential.js';
import type { DesiredState } from '../agents/agent.record.js';
import type { AgentsService } from '../agents/agents.service.js';
import { hashOfToken } from '../agents/lease-token.store.js';
import type { Joined } from '../agents/registration/registration.group.js';
import type { Registration } from '../agents/registration/registration.js';
import type { CircuitService } from '../circuit/circuit.service.js';
import type { Reporter } from '../circuit/outcome.js';
import { given } from './given.js';

/** A registration, and the state the agent is in afterwards. */
export interface AgentSpec extends Partial<Registration> {
  /** By default, the registry chooses an agentId. */
  agentId?: string;
  /** The lease token of the registration that this one replaces. */
  leaseToken?: string;
  takeover?: boolean;
  /** The principal that registers; `test` by default. */
  by?: string;
  asOperator?: boolean;
  circuit?: 'closed' | 'open';
  desiredState?: DesiredState;
}

export interface GivenAgent extends Joined {
  credential: LeaseCredential;
}

/** The reporter of outcomes in tests. */
export const REPORTER: Reporter = { id: 'key:test', name: 'test' };

interface AgentParts {
  agents: AgentsService;
  circuits: CircuitService;
  failuresToOpen: number;
}

/** Registers agents through one replica. */
export function givenAgents({ agents, circuits, failuresToOpen }: AgentParts) {
  const openCircuit = async (agentId: string): Promise<void> => {
    for (let failures = 0; failures < failuresToOpen; failures++)
      await circuits.report(agentId, { ok: false }, REPORTER);
  };
  return async (spec: AgentSpec = {}): Promise<GivenAgent> => {
    const { agentId: id = null, leaseToken = null, takeover, by = 'test', asOperator, ...rest } = spec;
    const { circuit = 'closed', desiredState = 'active', ...facts } = rest;
    const request = { agentId: id, leaseToken, takeover, by, asOperator, facts: given.registration(facts) };
    const joined = await agents.register(request);
    const { agentId, generation } = joined.record;
    if (desiredState !== 'active') await agents.setDesiredState(agentId, desiredState, null, 'key:op');
    if (circuit === 'open') await openCircuit(agentId);
    return { ...joined, credential: { agentId, generation, tokenHash: hashOfToken(joined.leaseToken) } };
  };
}
