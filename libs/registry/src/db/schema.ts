import { EventCounterEntity } from '../events/event-counter.entity.js';
import { LoggedEventEntity } from '../events/logged-event.entity.js';
import { StagedEventEntity } from '../events/staged-event.entity.js';
import type { Schema } from './database.options.js';
import { Events1763262000000 } from './migrations/1763262000000-events.js';

/** What the registry keeps. */
export const REGISTRY_SCHEMA: Schema = {
  entities: [StagedEventEntity, LoggedEventEntity, EventCounterEntity],
  migrations: [Events1763262000000],
};
