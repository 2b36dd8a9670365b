import { AgentEntity } from '../agents/agent.entity.js';
import { IntentEntity } from '../agents/intent.entity.js';
import { LeaseEntity } from '../leases/lease.entity.js';
import { ProtectionEntity } from '../leases/protection.entity.js';
import type { Schema } from './database.options.js';
import { Agents1763258400000 } from './migrations/1763258400000-agents.js';

/** Who is there: the registry's own tables. */
export const REGISTRY_SCHEMA: Schema = {
  entities: [AgentEntity, LeaseEntity, IntentEntity, ProtectionEntity],
  migrations: [Agents1763258400000],
};
