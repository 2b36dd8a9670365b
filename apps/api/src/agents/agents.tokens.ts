export const LEASE_POLICY = Symbol('lease policy');
