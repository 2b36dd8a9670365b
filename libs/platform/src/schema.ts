import { Access1763251200000 } from './migrations/1763251200000-access.js';
import { Events1763262000000 } from './migrations/1763262000000-events.js';
import { Sinks1763280000000 } from './migrations/1763280000000-sinks.js';
import { Webhooks1763280060000 } from './migrations/1763280060000-webhooks.js';
import { LogEpoch1763290100000 } from './migrations/1763290100000-log-epoch.js';
import { Namespaces1763300000000 } from './migrations/1763300000000-namespaces.js';
import { EventNamespaces1763300030000 } from './migrations/1763300030000-event-namespaces.js';
import { KeyOrigin1763300200000 } from './migrations/1763300200000-key-origin.js';
import { EventsKept1763400000000 } from './migrations/1763400000000-events-kept.js';
import { Sessions1764207000000 } from './migrations/1764207000000-sessions.js';
import type { Schema } from './postgres/database.options.js';

/** The tables of the platform: namespaces, API keys, sessions, the event log, sinks and webhooks. */
export const PLATFORM_SCHEMA: Schema = {
  migrations: [
    Access1763251200000,
    Events1763262000000,
    Sinks1763280000000,
    Webhooks1763280060000,
    LogEpoch1763290100000,
    KeyOrigin1763300200000,
    Namespaces1763300000000,
    EventNamespaces1763300030000,
    EventsKept1763400000000,
    Sessions1764207000000,
  ],
};
