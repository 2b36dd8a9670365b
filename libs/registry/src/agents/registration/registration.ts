import type { AgentProviderFacts, CostModel } from '../agent.record.js';

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
