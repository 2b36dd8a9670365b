import { Injectable } from '@nestjs/common';
import {
  ALL_NAMESPACES,
  DEFAULT_NAMESPACE,
  NAMESPACE_PATTERN,
  NamespaceCatalog,
  NamespaceNotFoundError,
} from '#rollcall/platform';
import { ApiError } from '../../http/problems/api.error.js';
import { CallerLimits } from '../../limits/caller.limits.js';
import type { Principal } from '../principal.js';
import { type Grant, grantIn, type Identity } from './identity.js';

export const NAMESPACE_HEADER = 'rollcall-namespace';
const MAX_SHOWN = 63;

/**
 * Determines the namespace of a request, and what its credential permits there. The response is the same for a
 * namespace that does not exist and for one to which the credential gives no access, so that callers cannot guess names of other teams.
 */
@Injectable()
export class NamespaceResolver {
  private readonly resolved = new WeakMap<Identity, Map<string | undefined, Principal>>();

  constructor(
    private readonly catalog: NamespaceCatalog,
    private readonly limits: CallerLimits,
  ) {}

  /** `wanted` is the value of the header `Rollcall-Namespace`. Returns no promise if this replica knows the namespace. */
  resolve(identity: Identity, wanted: string | undefined): Principal | Promise<Principal> {
    const known = this.resolved.get(identity)?.get(wanted);
    if (known && this.isKnown(known.namespace)) return known;
    const principal = principalIn(identity, wanted ?? defaultOf(identity));
    if (this.isKnown(principal.namespace)) return this.remember(identity, wanted, principal);
    this.limits.countCredential({ id: identity.id }); // each look-up counts as a request, even if the name does not exist
    return this.lookUp(identity, wanted, principal);
  }

  private isKnown(namespace: string): boolean {
    return namespace === ALL_NAMESPACES || this.catalog.has(namespace);
  }

  private async lookUp(identity: Identity, wanted: string | undefined, principal: Principal): Promise<Principal> {
    if (!(await this.catalog.lookUp(principal.namespace))) throw notFound(principal.namespace);
    return this.remember(identity, wanted, principal);
  }

  /** Identities are cached for a short time, and only names of existing namespaces are added, so the map stays small. */
  private remember(identity: Identity, wanted: string | undefined, principal: Principal): Principal {
    const principals = this.resolved.get(identity) ?? new Map<string | undefined, Principal>();
    this.resolved.set(identity, principals.set(wanted, principal));
    return principal;
  }
}

function notFound(namespace: string): NamespaceNotFoundError {
  return new NamespaceNotFoundError(namespace.slice(0, MAX_SHOWN));
}

/** The namespace of a request without the header: `default`, or the only one that the credential gives access to. */
function defaultOf({ grants }: Identity): string {
  const names = namesIn(grants);
  const [first = DEFAULT_NAMESPACE, ...others] = names;
  if (names.includes(ALL_NAMESPACES) || names.includes(DEFAULT_NAMESPACE)) return DEFAULT_NAMESPACE;
  if (others.length === 0) return first;
  throw new ApiError(
    'NAMESPACE_REQUIRED',
    `Your credential gives access to several namespaces. Choose one of them with the header Rollcall-Namespace: ${names.join(' or ')}.`,
  );
}

function principalIn(identity: Identity, namespace: string): Principal {
  const grant = grantIn(identity, namespace);
  if (!grant || !isNameOrAll(namespace)) throw notFound(namespace);
  const { grants, ...who } = identity;
  const everywhere = grantIn(identity, ALL_NAMESPACES)?.permissions;
  const hasAllNamespaces = everywhere !== undefined && grant.permissions.every((one) => everywhere.includes(one));
  return { ...who, ...grant, namespaces: namesIn(grants), hasAllNamespaces };
}

function isNameOrAll(namespace: string): boolean {
  return namespace === ALL_NAMESPACES || NAMESPACE_PATTERN.test(namespace);
}

function namesIn(grants: readonly Grant[]): string[] {
  return [...new Set(grants.map(({ namespace }) => namespace))];
}
