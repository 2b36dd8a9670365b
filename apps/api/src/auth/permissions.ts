/** All permissions. A route declares one of them or is public. */
export const PERMISSIONS = [
  'self:read',
  'agents:read',
  'agents:query',
  'agents:register',
  'agents:self',
  'agents:report',
  'agents:operate',
  'agents:spawn',
  'budgets:read',
  'budgets:spend',
  'budgets:spend-any',
  'budgets:write',
  'models:read',
  'tools:read',
  'tools:manage',
  'definitions:read',
  'definitions:write',
  'runs:read',
  'runs:read-all',
  'runs:start',
  'runs:manage',
  'contracts:read',
  'contracts:announce',
  'events:read',
  'webhooks:manage',
  'metrics:read',
  'audit:read',
  'keys:manage',
  'namespaces:read',
  'namespaces:manage',
] as const;
export type Permission = (typeof PERMISSIONS)[number];

export const ROLES = ['admin', 'operator', 'agent', 'caller', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

/** Every role has these permissions. */
const READ: Permission[] = ['self:read', 'agents:read', 'budgets:read', 'namespaces:read'];
const VIEWER: Permission[] = [
  ...READ,
  'agents:query',
  'models:read',
  'tools:read',
  'definitions:read',
  'runs:read',
  'runs:read-all',
  'contracts:read',
  'events:read',
  'metrics:read',
];
/** For agents, which may look for their peers (S3.13). `agents:self` and `budgets:spend` apply to the agents that the principal owns. */
const AGENT: Permission[] = [...READ, 'agents:query', 'agents:register', 'agents:self', 'budgets:spend'];
/**
 * For services that use agents. With `runs:read`, a principal sees the runs that it started, and the runs that they delegated; with
 * `runs:read-all`, all runs of the namespace. With `runs:start` and `contracts:announce`, a principal may start runs and announce contracts,
 * and change its own runs and contracts.
 */
const CALLER: Permission[] = [
  ...READ,
  'agents:query',
  'agents:report',
  'budgets:spend',
  'budgets:spend-any',
  'models:read',
  'definitions:read',
  'runs:read',
  'runs:start',
  'contracts:read',
  'contracts:announce',
];
const OPERATOR: Permission[] = [
  ...VIEWER,
  ...AGENT,
  ...CALLER,
  'agents:operate',
  'agents:spawn',
  'budgets:write',
  'tools:manage',
  'definitions:write',
  'runs:manage',
  'webhooks:manage',
  'audit:read',
];
/** What a lease token permits. Each statement checks that the token belongs to the agent it changes. */
export const LEASE_PERMISSIONS: Permission[] = ['agents:self'];

const PERMISSIONS_OF: Record<Role, readonly Permission[]> = {
  admin: PERMISSIONS,
  operator: OPERATOR,
  agent: AGENT,
  caller: CALLER,
  viewer: VIEWER,
};

export function permissionsOf(roles: readonly Role[]): Permission[] {
  return [...new Set(roles.flatMap((role) => PERMISSIONS_OF[role]))].toSorted();
}

export function isRole(value: unknown): value is Role {
  return ROLES.includes(value as Role);
}
