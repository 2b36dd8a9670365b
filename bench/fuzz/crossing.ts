/**
 * Lets any number of requests run at once, or a single one alone. A late request is repeated alone, so that it is not
 * blamed for a slow neighbour.
 */
export class Crossing {
  private running = 0;
  private alone = false;
  private readonly waiting: { exclusive: boolean; enter: () => void }[] = [];

  async together<T>(work: () => Promise<T>): Promise<T> {
    return await this.pass(false, work);
  }

  async exclusively<T>(work: () => Promise<T>): Promise<T> {
    return await this.pass(true, work);
  }

  private async pass<T>(exclusive: boolean, work: () => Promise<T>): Promise<T> {
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

  /** In the order of arrival, except that those who must be alone go first: the others would keep them waiting. */
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
