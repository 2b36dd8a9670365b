import { EVENT_SUBJECTS, EVENT_TYPES, type RegistryEvent } from './event.types.js';

/** What a consumer wants to see. What is left out does not restrict; what is given must all hold. */
export interface EventFilter {
  /** Names, or a family such as `agent.*`. */
  types?: readonly string[];
  agentIds?: readonly string[];
  /** At least one of them. */
  capabilities?: readonly string[];
}

export type EventMatcher = (event: RegistryEvent) => boolean;

export function matcherOf({ types, agentIds, capabilities }: EventFilter): EventMatcher {
  const tests: EventMatcher[] = [];
  if (types) {
    const wanted = new Set(types.flatMap(typesMeant));
    tests.push((event) => wanted.has(event.type));
  }
  if (agentIds) {
    const wanted = new Set(agentIds);
    tests.push((event) => wanted.has(agentOf(event) ?? ''));
  }
  if (capabilities) {
    const wanted = new Set(capabilities);
    tests.push((event) => event.capabilities.some((capability) => wanted.has(capability)));
  }
  return (event) => tests.every((test) => test(event));
}

/** The types a name or a family such as `agent.*` stands for; none when it is not known. */
export function typesMeant(pattern: string): string[] {
  if (!pattern.endsWith('.*')) return EVENT_TYPES.filter((type) => type === pattern);
  return EVENT_TYPES.filter((type) => type.startsWith(pattern.slice(0, -1)));
}

/** The agent an event is about, also when that is not its subject. */
export function agentOf(event: RegistryEvent): string | undefined {
  if (EVENT_SUBJECTS[event.type] === 'agent') return event.subject;
  return 'agentId' in event.data ? event.data.agentId : undefined;
}
