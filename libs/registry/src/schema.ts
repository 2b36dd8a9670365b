import type { Schema } from '#rollcall/platform';
import { Agents1763265600000 } from './migrations/1763265600000-agents.js';
import { CapabilityKeys1763266000000 } from './migrations/1763266000000-capability-keys.js';
import { Forgiveness1763269000000 } from './migrations/1763269000000-forgiveness.js';
import { Budgets1763270000000 } from './migrations/1763270000000-budgets.js';
import { BeatsTakenBy1763280900000 } from './migrations/1763280900000-beats-taken-by.js';
import { ForgottenGenerations1763281000000 } from './migrations/1763281000000-forgotten-generations.js';
import { LeaseTokenIndex1763281500000 } from './migrations/1763281500000-lease-token-index.js';
import { Quotas1763290000000 } from './migrations/1763290000000-quotas.js';
import { ReportedUsage1763291000000 } from './migrations/1763291000000-reported-usage.js';
import { Outcomes1763291010000 } from './migrations/1763291010000-outcomes.js';
import { AgentNamespaces1763300010000 } from './migrations/1763300010000-agent-namespaces.js';
import { BudgetNamespaces1763300020000 } from './migrations/1763300020000-budget-namespaces.js';
import { Contracts1763900000000 } from './migrations/1763900000000-contracts.js';
import { ContractLimits1764000000000 } from './migrations/1764000000000-contract-limits.js';
import { AgentCircuits1764010000000 } from './migrations/1764010000000-agent-circuits.js';
import { ReservedAhead1764020000000 } from './migrations/1764020000000-reserved-ahead.js';
import { TypicalTokens1764205001000 } from './migrations/1764205001000-typical-tokens.js';
import { AgentWork1764206000000 } from './migrations/1764206000000-agent-work.js';
import { ReplicaChanges1764300000000 } from './migrations/1764300000000-replica-changes.js';

/** The tables and migrations of the registry. */
export const REGISTRY_SCHEMA: Schema = {
  migrations: [
    Agents1763265600000,
    CapabilityKeys1763266000000,
    Forgiveness1763269000000,
    Budgets1763270000000,
    BeatsTakenBy1763280900000,
    ForgottenGenerations1763281000000,
    LeaseTokenIndex1763281500000,
    Quotas1763290000000,
    ReportedUsage1763291000000,
    Outcomes1763291010000,
    AgentNamespaces1763300010000,
    BudgetNamespaces1763300020000,
    Contracts1763900000000,
    ContractLimits1764000000000,
    AgentCircuits1764010000000,
    ReservedAhead1764020000000,
    TypicalTokens1764205001000,
    AgentWork1764206000000,
    ReplicaChanges1764300000000,
  ],
};
