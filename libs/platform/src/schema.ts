import { EventCounterEntity } from './events/event-counter.entity.js';
import { LoggedEventEntity } from './events/logged-event.entity.js';
import { StagedEventEntity } from './events/staged-event.entity.js';
import type { Schema } from './postgres/database.options.js';
import { Events1763262000000 } from './migrations/1763262000000-events.js';
import { Sinks1763280000000 } from './migrations/1763280000000-sinks.js';
import { LogEpoch1763290100000 } from './migrations/1763290100000-log-epoch.js';
import { DeliveryEntity } from './sinks/delivery.entity.js';
import { SinkEntity } from './sinks/sink.entity.js';

/** What the platform keeps: what happened, and how far it was delivered. */
export const PLATFORM_SCHEMA: Schema = {
  entities: [StagedEventEntity, LoggedEventEntity, EventCounterEntity, SinkEntity, DeliveryEntity],
  migrations: [Events1763262000000, Sinks1763280000000, LogEpoch1763290100000],
};
