import {
  EventCounterEntity,
  EventNamespaceEntity,
  LoggedEventEntity,
  StagedEventEntity,
} from '../events/event.entities.js';
import { KeyEntity } from '../keys/key.entity.js';
import { SessionEntity, SessionTicketEntity } from '../keys/session.entities.js';
import { NamespaceEntity } from '../namespaces/namespace.entity.js';
import { DeliveryEntity, SinkEntity } from '../sinks/sink.entities.js';
import { WebhookEntity } from '../webhooks/webhook.entity.js';

/** The entities of this library. They describe the tables and the types of rows; a test compares them with the migrations. */
export const PLATFORM_ENTITIES = [
  StagedEventEntity,
  LoggedEventEntity,
  EventCounterEntity,
  SinkEntity,
  DeliveryEntity,
  WebhookEntity,
  KeyEntity,
  SessionEntity,
  SessionTicketEntity,
  NamespaceEntity,
  EventNamespaceEntity,
];
