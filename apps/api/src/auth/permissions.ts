/** All permissions. A route declares one of them or is public. */
export const PERMISSIONS = [
  'self:read',
  'agents:read',
  'agents:register',
  'agents:self',
  'agents:report',
  'agents:operate',
  'budgets:read',
  'budgets:spend',
  'budgets:write',
  'models:read',
  'events:read',
  'webhooks:manage',
  'metrics:read',
  'audit:read',
  'keys:manage',
  'namespaces:read',
  'namespaces:manage',
] as const;
export type Permission = (typeof PERMISSIONS)[number];

export const ROLES = ['admin', 'operator', 'agent', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

const VIEWER: Permission[] = [
  'self:read',
  'agents:read',
  'budgets:read',
  'models:read',
  'events:read',
  'metrics:read',
  'namespaces:read',
];
const AGENT: Permission[] = [
  'self:read',
  'agents:read',
  'agents:register',
  'agents:report',
  'budgets:read',
  'budgets:spend',
];
/** What a lease token permits. Each statement checks that the token belongs to the agent it changes. */
export const LEASE_PERMISSIONS: Permission[] = ['agents:self'];

const PERMISSIONS_OF: Record<Role, readonly Permission[]> = {
  admin: PERMISSIONS,
  operator: [...VIEWER, ...AGENT, 'agents:self', 'agents:operate', 'budgets:write', 'webhooks:manage', 'audit:read'],
  agent: AGENT,
  viewer: VIEWER,
};

export function permissionsOf(roles: readonly Role[]): Permission[] {
  return [...new Set(roles.flatMap((role) => PERMISSIONS_OF[role]))].toSorted();
}

export function isRole(value: unknown): value is Role {
  return ROLES.includes(value as Role);
}
