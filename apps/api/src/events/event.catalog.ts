import { RUNTIME_EVENTS } from '#rollcall/agent-runtime';
import { EventCatalog, PLATFORM_EVENTS } from '#rollcall/platform';
import { REGISTRY_EVENTS } from '#rollcall/registry';

/** All event types of this deployment. Code that uses a type without an entry here does not compile. */
export const EVENTS = new EventCatalog({ ...REGISTRY_EVENTS, ...RUNTIME_EVENTS, ...PLATFORM_EVENTS });
