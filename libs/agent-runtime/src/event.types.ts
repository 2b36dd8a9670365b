import type { SubjectKind } from '#rollcall/platform';
import type { DefinitionSource } from './definitions/definition.js';
import type { FinalState, WaitingFor } from './runs/run.status.js';

interface DefinitionFact {
  revision: number;
  source: DefinitionSource;
  /** The principal that made the change. */
  by: string;
}

interface RunFact {
  /** The run at the top of the tree. */
  rootId: string;
  /** The run that delegated to this run; null for a root. */
  parentId: string | null;
  /** The agent that executes the run. */
  agentId: string;
}

export interface RuntimeEventPayloads {
  'definition.registered': DefinitionFact;
  'definition.replaced': DefinitionFact;
  /** `revision` is the last revision of the definition. */
  'definition.unregistered': DefinitionFact;
  'run.queued': RunFact & { by: string };
  'run.started': RunFact;
  'run.waiting': RunFact & { waitingFor: WaitingFor };
  'run.finished': RunFact & { state: Exclude<FinalState, 'cancelled'>; reason: string | null };
  'run.cancelled': RunFact & { by: string };
}

declare module '#rollcall/platform' {
  // oxlint-disable-next-line typescript/no-empty-object-type -- declaration merging needs an interface
  interface EventPayloads extends RuntimeEventPayloads {}
}

export const RUNTIME_EVENTS = {
  'definition.registered': 'definition',
  'definition.replaced': 'definition',
  'definition.unregistered': 'definition',
  'run.queued': 'run',
  'run.started': 'run',
  'run.waiting': 'run',
  'run.finished': 'run',
  'run.cancelled': 'run',
} as const satisfies Record<keyof RuntimeEventPayloads, SubjectKind>;
