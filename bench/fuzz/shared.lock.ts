/**
 * A lock with shared and exclusive mode: any number of requests run at once, or one request runs alone. A late request is repeated
 * alone, so that other requests cannot delay it.
 */
export class SharedLock {
  private running = 0;
  private alone = false;
  private readonly waiting: { exclusive: boolean; enter: () => void }[] = [];

  async shared<T>(work: () => Promise<T>): Promise<T> {
    return await this.run(false, work);
  }

  async exclusive<T>(work: () => Promise<T>): Promise<T> {
    return await this.run(true, work);
  }

  private async run<T>(exclusive: boolean, work: () => Promise<T>): Promise<T> {
    await new Promise<void>((enter) => {
      this.waiting.push({ exclusive, enter });
      this.admit();
    });
    try {
      return await work();
    } finally {
      this.running -= 1;
      this.alone = false;
      this.admit();
    }
  }

  /** Admits in the order of arrival. Exclusive work has priority, because shared work could delay it forever. */
  private admit(): void {
    if (this.alone) return;
    const at = this.waiting.findIndex(({ exclusive }) => exclusive);
    if (at >= 0) {
      if (this.running === 0) this.enter(at, true);
      return;
    }
    while (this.waiting.length > 0) this.enter(0, false);
  }

  private enter(at: number, alone: boolean): void {
    const [next] = this.waiting.splice(at, 1);
    this.alone = alone;
    this.running += 1;
    next?.enter();
  }
}
