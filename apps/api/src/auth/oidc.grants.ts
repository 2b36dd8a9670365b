import type { JWTPayload } from 'jose';
import { ALL_NAMESPACES, DEFAULT_NAMESPACE, NAMESPACE_PATTERN } from '#rollcall/platform';
import type { Config } from '../config/config.schema.js';
import { type Grant, grantOf } from './identity.js';
import { isRole } from './permissions.js';

const MAX_NAMESPACES = 100;

type GrantSettings = Pick<Config['auth'], 'oidcRolesClaim' | 'oidcNamespaceClaim' | 'oidcGroupsClaim' | 'oidcGroups'>;

/**
 * The access that a token gives: the roles of its roles claim, in each namespace of its namespace claim, and what the configuration
 * grants to its groups. A token without a namespace claim and without a known group gives access to `default`. A namespace claim
 * without a valid namespace gives no access by itself.
 */
export function grantsOf(payload: JWTPayload, settings: GrantSettings): Grant[] {
  const roles = claimAt(payload, settings.oidcRolesClaim).filter(isRole);
  const namespaces = claimAt(payload, settings.oidcNamespaceClaim).filter(isNamespace).slice(0, MAX_NAMESPACES);
  const groups = claimAt(payload, settings.oidcGroupsClaim);
  const byGroup = settings.oidcGroups
    .filter(({ group }) => groups.includes(group))
    .map((rule) => grantOf(rule.namespace, rule.roles));
  const named = namespaces.map((namespace) => grantOf(namespace, roles));
  const grants = [...named, ...byGroup];
  const isUnnamed = grants.length === 0 && valueAt(payload, settings.oidcNamespaceClaim) === undefined;
  return isUnnamed ? [grantOf(DEFAULT_NAMESPACE, roles)] : grants;
}

function isNamespace(value: unknown): value is string {
  return typeof value === 'string' && (value === ALL_NAMESPACES || NAMESPACE_PATTERN.test(value));
}

/** The values of a claim: a list, or a text with values separated by spaces. Dots in the path address nested claims. */
function claimAt(payload: JWTPayload, path: string): unknown[] {
  const value = valueAt(payload, path);
  if (Array.isArray(value)) return value;
  return typeof value === 'string' ? value.split(' ') : [];
}

function valueAt(payload: JWTPayload, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((branch, key) => (branch as Record<string, unknown> | null | undefined)?.[key], payload);
}
