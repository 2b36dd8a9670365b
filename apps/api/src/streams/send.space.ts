/** Lets the writer of a stream wait until its client has read a part of the send buffer. */
export class SendSpace {
  private onSpace?: () => void;

  /** Call this when the buffer has space again, or when the connection is closed. */
  notify(): void {
    this.onSpace?.();
  }

  /** Returns false if there is still no space after `limitMs`. */
  async wait(limitMs: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), limitMs).unref();
    this.onSpace = () => resolve(true);
    const hasSpace = await promise;
    clearTimeout(timer);
    this.onSpace = undefined;
    return hasSpace;
  }
}
