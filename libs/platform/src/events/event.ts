/**
 * Every event type with its payload. Each library adds its own types by declaration merging, next to the code that
 * emits them: `declare module '#rollcall/platform' { interface EventPayloads { 'agent.joined': … } }`. Names are in the
 * past tense, because an event is a fact about the past. A payload contains what a consumer needs to decide whether the
 * event concerns it, not a copy of the record.
 */
export interface EventPayloads {
  /** The event at this position was deleted, because its namespace has more events than its limit. */
  'event.expired': Record<string, never>;
}

export type EventType = keyof EventPayloads;

/** What the `subject` of an event identifies. */
export type SubjectKind = 'agent' | 'budget' | 'definition' | 'run' | 'contract' | 'namespace' | 'registry';

interface EventOf<T extends EventType> {
  /** The position in the log: 1, 2, 3 … without a gap. A consumer uses it as a cursor. */
  seq: number;
  /** A UUID, for consumers that collect events of several registries. */
  id: string;
  type: T;
  /** The namespace of the subject; `*` if the event concerns no single namespace. */
  namespace: string;
  /**
   * The id of the object that the event describes, within its namespace: an agentId, a budget, a definition's name, a
   * run, a contract, a namespace, or `registry`.
   */
  subject: string;
  /** The capabilities of the agent that the event concerns; empty if it concerns no agent. */
  capabilities: string[];
  at: Date;
  data: EventPayloads[T];
}

/** An event in the log. `type` determines the shape of `data`. */
export type RegistryEvent = { [T in EventType]: EventOf<T> }[EventType];

/**
 * The type of an event whose contents were deleted because its namespace has more events than its limit. The position, the id, the
 * namespace and the time remain, so the log has no gap.
 */
export const EXPIRED_EVENT = 'event.expired';

/** The event types of the platform. */
export const PLATFORM_EVENTS = { [EXPIRED_EVENT]: 'namespace' } as const satisfies Record<string, SubjectKind>;

export function isExpired({ type }: Pick<RegistryEvent, 'type'>): boolean {
  return type === EXPIRED_EVENT;
}
