import { ALL_NAMESPACES, type VisibleNamespaces } from '#rollcall/platform';
import type { ConcurrentCaller } from '../http/server/concurrency.limiter.js';
import type { Identity } from './identity.js';
import type { Permission, Role } from './permissions.js';
import type { RateLimitedCaller } from './rate.limiter.js';

/** Who sends a request, and what the credential permits in the namespace of the request. */
export interface Principal extends Omit<Identity, 'grants'>, RateLimitedCaller, ConcurrentCaller {
  /** The namespace of the request; `*` if the request concerns all of them. */
  namespace: string;
  /** The namespaces that the credential gives access to; `*` for all. */
  namespaces: readonly string[];
  /**
   * Whether all these permissions apply in all namespaces. False if the credential has one of them only in the namespace of the
   * request: that permission must not reach objects outside this namespace.
   */
  hasAllNamespaces: boolean;
  roles: readonly Role[];
  /** Sorted. */
  permissions: readonly Permission[];
}

/** Objects that belong to no single namespace, such as keys for all namespaces, require access to all namespaces. */
export function visibleTo({ namespace, hasAllNamespaces }: Principal): VisibleNamespaces {
  if (namespace === ALL_NAMESPACES) return null;
  return hasAllNamespaces ? [namespace, ALL_NAMESPACES] : [namespace];
}
