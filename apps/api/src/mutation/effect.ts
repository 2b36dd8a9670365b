/**
 * The part of a changing route that runs in the transaction. The handler of a route with `prepares` returns it. What the handler
 * does before it returns, such as resolving a host name, runs without an open transaction.
 */
export class Effect<T> {
  /** `discard` releases what the handler has prepared. It is called if `run` is not called, or if the transaction fails. */
  constructor(
    readonly run: () => Promise<T>,
    readonly discard: () => Promise<void> = async () => await Promise.resolve(),
  ) {}
}
