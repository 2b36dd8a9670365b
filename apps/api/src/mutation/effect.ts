/**
 * The part of a changing route that runs in the transaction. A handler of a route with `prepares` returns it; everything that the
 * handler does before, such as resolving a host name, runs while no transaction is open.
 */
export class Effect<T> {
  constructor(readonly run: () => Promise<T>) {}
}
