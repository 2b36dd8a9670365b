/**
 * Reads something once for all callers that ask for it in the same iteration of the event loop. The read begins after all these
 * calls, so each caller gets everything that was stored before its call.
 */
export class SharedReads<Value> {
  private readonly collecting = new Map<string, Promise<Value>>();

  async read(key: string, read: () => Promise<Value>): Promise<Value> {
    const known = this.collecting.get(key);
    if (known) return await known;
    const shared = this.after(key, read);
    this.collecting.set(key, shared);
    return await shared;
  }

  private async after(key: string, read: () => Promise<Value>): Promise<Value> {
    await new Promise(setImmediate);
    this.collecting.delete(key); // later callers need a later read
    return await read();
  }
}
