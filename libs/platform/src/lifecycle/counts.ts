/** Counters of this replica since its start, by name. They are cheap enough for hot paths; metrics read them. */
export class Counts {
  private readonly values = new Map<string, number>();

  add(name: string, by = 1): void {
    this.values.set(name, (this.values.get(name) ?? 0) + by);
  }

  get(name: string): number {
    return this.values.get(name) ?? 0;
  }

  /** The counters whose name begins with the prefix, without the prefix. */
  withPrefix(prefix: string): [name: string, count: number][] {
    const found = [...this.values].filter(([name]) => name.startsWith(prefix));
    return found.map(([name, count]) => [name.slice(prefix.length), count]);
  }
}
