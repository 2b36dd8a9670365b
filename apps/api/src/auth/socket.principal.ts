import type { Principal } from './principal.js';

const principals = new WeakMap<object, Principal>();

/** Notes who is at the other end of a request to upgrade, and then of the socket it became. */
export function admitAs(holder: object, principal: Principal): void {
  principals.set(holder, principal);
}

export function principalOf(holder: object): Principal {
  const principal = principals.get(holder);
  if (!principal) throw new Error('a socket was opened without anyone being let in');
  return principal;
}
