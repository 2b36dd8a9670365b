import { PlatformError } from '../errors.js';

/** Exists in every installation. Objects that were created before namespaces existed belong to it. */
export const DEFAULT_NAMESPACE = 'default';
/** The value for access to all namespaces. It is not a valid name of a namespace. */
export const ALL_NAMESPACES = '*';
export const NAMESPACE_PATTERN = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** The namespaces whose objects a caller sees; null means all. */
export type VisibleNamespaces = readonly string[] | null;

const SEPARATOR = '/';

/**
 * The id of an object among the objects of all namespaces: `team-a/builder`. In the default namespace it is the local id itself, so
 * that ids that are older than namespaces stay valid. Different pairs of namespace and local id have different qualified ids: a local
 * id with a slash gets the prefix even in the default namespace.
 */
export function qualifiedId(namespace: string, localId: string): string {
  const needsPrefix = namespace !== DEFAULT_NAMESPACE || localId.includes(SEPARATOR);
  return needsPrefix ? namespace + SEPARATOR + localId : localId;
}

export function namespaceOf(qualified: string): string {
  const end = qualified.indexOf(SEPARATOR);
  return end === -1 ? DEFAULT_NAMESPACE : qualified.slice(0, end);
}

/** The id within its namespace, as users see it. */
export function localIdOf(qualified: string): string {
  return qualified.slice(qualified.indexOf(SEPARATOR) + 1);
}

export function isVisible(namespace: string, visible: VisibleNamespaces): boolean {
  return visible === null || visible.includes(namespace);
}

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

/** Also thrown for a namespace that exists but that the caller may not use, with the same text. */
export class NamespaceNotFoundError extends PlatformError {
  readonly code = 'NAMESPACE_NOT_FOUND';

  constructor(name: string) {
    super(`No namespace that you may use has the name "${name}". GET /v1/me lists the namespaces of your credential.`);
  }
}
