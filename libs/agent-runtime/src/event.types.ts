import type { SubjectKind } from '#rollcall/platform';
import type { DefinitionSource } from './definitions/definition.js';

interface DefinitionFact {
  revision: number;
  source: DefinitionSource;
  /** The principal that made the change. */
  by: string;
}

export interface RuntimeEventPayloads {
  'definition.registered': DefinitionFact;
  'definition.replaced': DefinitionFact;
  /** `revision` is the last one. */
  'definition.unregistered': DefinitionFact;
}

declare module '#rollcall/platform' {
  // oxlint-disable-next-line typescript/no-empty-object-type -- declaration merging needs an interface
  interface EventPayloads extends RuntimeEventPayloads {}
}

export const RUNTIME_EVENTS = {
  'definition.registered': 'definition',
  'definition.replaced': 'definition',
  'definition.unregistered': 'definition',
} as const satisfies Record<keyof RuntimeEventPayloads, SubjectKind>;
