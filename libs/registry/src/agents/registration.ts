import type { AgentProviderFacts, CostModel } from './agent.record.js';

/** What an agent says of itself when it joins, checked by the edge; everything has its final form here. */
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

/** How an agent proves, with each write, that it is the one that registered. */
export interface LeaseClaim {
  agentId: string;
  generation: number;
  /** Null when an operator acts in its place. */
  tokenHash: string | null;
}

/** As LeaseClaim; an operator may leave the generation open, and means whichever life is the current one. */
export interface AgentClaim {
  agentId: string;
  generation: number | null;
  tokenHash: string | null;
}
