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
