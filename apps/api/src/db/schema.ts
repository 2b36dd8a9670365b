import type { Schema } from '#rollcall/platform';
import { EventTickets1763262060000 } from './migrations/1763262060000-event-tickets.js';
import { PushOwners1764204000000 } from './migrations/1764204000000-push-owners.js';
import { InstallationKey1764205002000 } from './migrations/1764205002000-installation-key.js';
import { PushNotifications1763960000000 } from './migrations/1763960000000-push-notifications.js';

/**
 * The tables of the application: audit log, stored idempotent responses, tickets, push notifications, the key of the installation. The migration `Access`, which
 * moved to `libs/platform` together with the API keys, creates the first two.
 */
export const API_SCHEMA: Schema = {
  migrations: [
    EventTickets1763262060000,
    PushNotifications1763960000000,
    PushOwners1764204000000,
    InstallationKey1764205002000,
  ],
};
