import { TYPE_PREFIX } from './cloud-event.js';
import { type EventType, isExpired, type RegistryEvent, type SubjectKind } from './event.js';

/** Selects events. An event must match all given criteria; an omitted criterion matches every event. */
export interface EventFilter {
  /** Type names, or families such as `agent.*`. */
  types?: readonly string[];
  /** The ids of agents within their namespaces. */
  agentIds?: readonly string[];
  /** The event must have at least one of these capabilities. */
  capabilities?: readonly string[];
  /** `*` selects the events that concern no single namespace. */
  namespaces?: readonly string[];
}

export type EventMatcher = (event: RegistryEvent) => boolean;

/** The event types of a deployment, composed from the maps that its libraries contribute. */
export class EventCatalog {
  readonly types: readonly EventType[];
  /** The types whose subject is an agent. */
  readonly agentTypes: readonly EventType[];

  constructor(readonly subjects: Readonly<Record<EventType, SubjectKind>>) {
    this.types = Object.keys(subjects) as EventType[];
    this.agentTypes = this.types.filter((type) => subjects[type] === 'agent');
  }

  /**
   * Returns the types that a name or a family such as `agent.*` selects; empty when the name is unknown. The names of CloudEvents, such
   * as `dev.rollcall.agent.*`, select the same types.
   */
  select(name: string): EventType[] {
    const pattern = name.startsWith(TYPE_PREFIX) ? name.slice(TYPE_PREFIX.length) : name;
    if (!pattern.endsWith('.*')) return this.types.filter((type) => type === pattern);
    return this.types.filter((type) => type.startsWith(pattern.slice(0, -1)));
  }

  /**
   * Returns the local id of the agent that the event concerns, even if the subject of the event
   * is something else.
   */
  agentOf(event: RegistryEvent): string | undefined {
    if (this.subjects[event.type] === 'agent') return event.subject;
    return 'agentId' in event.data ? event.data.agentId : undefined;
  }

  /** An expired event matches every filter of its namespace, because the deleted event may have matched. */
  matcherOf({ types, agentIds, capabilities, namespaces }: EventFilter): EventMatcher {
    const tests: EventMatcher[] = [];
    const isVisible: EventMatcher = ({ namespace }) => namespaces?.includes(namespace) ?? true;
    if (types) {
      const wanted = new Set(types.flatMap((pattern) => this.select(pattern)));
      tests.push((event) => wanted.has(event.type));
    }
    if (agentIds) {
      const wanted = new Set(agentIds);
      tests.push((event) => wanted.has(this.agentOf(event) ?? ''));
    }
    if (capabilities) {
      const wanted = new Set(capabilities);
      tests.push((event) => event.capabilities.some((capability) => wanted.has(capability)));
    }
    return (event) => isVisible(event) && (isExpired(event) || tests.every((test) => test(event)));
  }
}
