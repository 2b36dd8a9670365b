import type { Principal } from './principal.js';

const principals = new WeakMap<object, Principal>();

/** Sets the principal of an upgrade request, and later of its socket. */
export function setPrincipal(holder: object, principal: Principal): void {
  principals.set(holder, principal);
}

export function principalOf(holder: object): Principal {
  const principal = principals.get(holder);
  if (!principal) throw new Error('the socket has no principal');
  return principal;
}
