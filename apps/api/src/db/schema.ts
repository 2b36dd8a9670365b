import type { Schema } from '#rollcall/platform';
import { AuditEntity } from '../audit/audit.entity.js';
import { TicketEntity } from '../events/ticket.entity.js';
import { IdempotencyEntity } from '../idempotency/idempotency.entity.js';
import { KeyEntity } from '../keys/key.entity.js';
import { Access1763251200000 } from './migrations/1763251200000-access.js';
import { WebhookEntity } from '../webhooks/webhook.entity.js';
import { EventTickets1763262060000 } from './migrations/1763262060000-event-tickets.js';
import { Webhooks1763280060000 } from './migrations/1763280060000-webhooks.js';

/** What the edge itself keeps: who may ask, what they did, and what they were answered. */
export const API_SCHEMA: Schema = {
  entities: [KeyEntity, AuditEntity, IdempotencyEntity, TicketEntity, WebhookEntity],
  migrations: [Access1763251200000, EventTickets1763262060000, Webhooks1763280060000],
};
