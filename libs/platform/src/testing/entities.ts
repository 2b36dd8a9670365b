import { EventCounterEntity } from '../events/event-counter.entity.js';
import { LoggedEventEntity } from '../events/logged-event.entity.js';
import { StagedEventEntity } from '../events/staged-event.entity.js';
import { KeyEntity } from '../keys/key.entity.js';
import { NamespaceEntity } from '../namespaces/namespace.entity.js';
import { DeliveryEntity } from '../sinks/delivery.entity.js';
import { SinkEntity } from '../sinks/sink.entity.js';
import { WebhookEntity } from '../webhooks/webhook.entity.js';
import { EventNamespaceEntity } from '../events/event-namespace.entity.js';

/** The entities of this library. They describe the tables and the types of rows; a test compares them with the migrations. */
export const PLATFORM_ENTITIES = [
  StagedEventEntity,
  LoggedEventEntity,
  EventCounterEntity,
  SinkEntity,
  DeliveryEntity,
  WebhookEntity,
  KeyEntity,
  NamespaceEntity,
  EventNamespaceEntity,
];
