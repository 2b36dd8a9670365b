import { z } from 'zod';

/** The namespaces that can use something that the operator configures. Absent: all namespaces. */
export const NamespacesSchema = z
  .array(z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must be the name of a namespace'))
  .min(1, 'must name at least one namespace; without this field, all namespaces can use it')
  .optional();

export interface NamespaceRestriction {
  readonly namespaces?: readonly string[];
}

/**
 * Whether a namespace can use, list or see it. For any other namespace, it does not exist (S-20). Without a namespace, only what is for
 * all namespaces can be used.
 */
export function isForNamespace({ namespaces }: NamespaceRestriction, namespace: string | undefined): boolean {
  return namespaces === undefined || (namespace !== undefined && namespaces.includes(namespace));
}
