import type { AgentProviderFacts, CostModel } from './agent.record.js';

/** The declaration of an agent at its registration. The API has validated and normalised it. */
export interface Registration {
  name: string;
  endpoint: string | null;
  agentCard: Record<string, unknown> | null;
  capabilities: string[];
  sandboxLevel: number;
  provider: AgentProviderFacts;
  budget: { totalTokens: number | null; usedTokens: number; source: string };
  costModel: CostModel;
  capacity: number | null;
  declaredMs: number | null;
  version: string | null;
  definition: string | null;
  labels: Record<string, string>;
}

/** Identifies the registration that a write belongs to. */
export interface LeaseClaim {
  agentId: string;
  generation: number;
  /** Null when an operator or the owner acts for the agent. */
  tokenHash: string | null;
  /** The principal that must own the agent. Absent: the lease token is enough, or an operator acts for the agent. */
  owner?: string;
}

/** Like LeaseClaim, but an operator or the owner may omit the generation to act on the current registration. */
export interface AgentClaim extends Omit<LeaseClaim, 'generation'> {
  generation: number | null;
}
