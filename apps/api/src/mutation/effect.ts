/**
 * The part of a changing route that runs in the transaction. The handler of a route with `prepares` returns it. What the handler
 * does before it returns, such as resolving a host name, runs without an open transaction.
 */
export class Effect<T> {
  constructor(readonly run: () => Promise<T>) {}
}
