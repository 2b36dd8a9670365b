import type { Schema } from '#rollcall/registry';
import { AuditEntity } from '../audit/audit.entity.js';
import { IdempotencyEntity } from '../idempotency/idempotency.entity.js';
import { KeyEntity } from '../keys/key.entity.js';
import { Access1763251200000 } from './migrations/1763251200000-access.js';

/** What the edge itself keeps: who may ask, what they did, and what they were answered. */
export const API_SCHEMA: Schema = {
  entities: [KeyEntity, AuditEntity, IdempotencyEntity],
  migrations: [Access1763251200000],
};
