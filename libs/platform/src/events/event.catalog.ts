import type { EventType, RegistryEvent, SubjectKind } from './event.types.js';

/** What a consumer wants to see. Criteria that are left out do not restrict; all criteria that are given must hold. */
export interface EventFilter {
  /** Names, or a family such as `agent.*`. */
  types?: readonly string[];
  agentIds?: readonly string[];
  /** At least one of them. */
  capabilities?: readonly string[];
}

export type EventMatcher = (event: RegistryEvent) => boolean;

/** The event types of a deployment, composed from the maps that its libraries contribute. */
export class EventCatalog {
  readonly types: readonly EventType[];
  /** Those whose subject is an agent. */
  readonly agentTypes: readonly EventType[];

  constructor(readonly subjects: Readonly<Record<EventType, SubjectKind>>) {
    this.types = Object.keys(subjects) as EventType[];
    this.agentTypes = this.types.filter((type) => subjects[type] === 'agent');
  }

  /** The types that a name or a family such as `agent.*` selects; empty when it is unknown. */
  select(pattern: string): EventType[] {
    if (!pattern.endsWith('.*')) return this.types.filter((type) => type === pattern);
    return this.types.filter((type) => type.startsWith(pattern.slice(0, -1)));
  }

  /** The agent that an event is about, also when the agent is not its subject. */
  agentOf(event: RegistryEvent): string | undefined {
    if (this.subjects[event.type] === 'agent') return event.subject;
    return 'agentId' in event.data ? event.data.agentId : undefined;
  }

  matcherOf({ types, agentIds, capabilities }: EventFilter): EventMatcher {
    const tests: EventMatcher[] = [];
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
    return (event) => tests.every((test) => test(event));
  }
}
