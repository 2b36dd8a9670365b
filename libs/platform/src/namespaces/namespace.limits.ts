/** The limits of one namespace. 0 means no limit. */
export interface NamespaceLimits {
  /** Live agents. */
  agents: number;
  /** Keys that are neither revoked nor expired. A rotated key and its successor count as one. */
  keys: number;
  webhooks: number;
  /** Requests per second on each replica. */
  requestsPerSecond: number;
  /** Events in the log. The contents of older events are deleted within a minute. */
  eventsKept: number;
}

export const NO_LIMITS: NamespaceLimits = { agents: 0, keys: 0, webhooks: 0, requestsPerSecond: 0, eventsKept: 0 };

/** The kinds of objects that a namespace limits and that must be removed before the namespace can be deleted. */
export type LimitedKind = Exclude<keyof NamespaceLimits, 'requestsPerSecond' | 'eventsKept'>;
