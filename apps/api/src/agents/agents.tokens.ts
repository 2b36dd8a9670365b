/** Injection token of the lease policy. */
export const LEASE_POLICY = Symbol('lease policy');
