interface Due<T> {
  at: number;
  item: T;
}

/** A priority queue of items by time, as a binary heap. The caller passes the time; the queue uses no clock. */
export class Timeline<T> {
  private readonly heap: Due<T>[] = [];

  get size(): number {
    return this.heap.length;
  }

  /** The time of the first item; Infinity if there is none. */
  get nextAt(): number {
    return this.heap.length === 0 ? Infinity : this.heap[0].at;
  }

  add(at: number, item: T): void {
    let hole = this.heap.length;
    this.heap.push({ at, item });
    while (hole > 0) {
      const parent = (hole - 1) >>> 1;
      if (this.heap[parent].at <= at) break;
      this.heap[hole] = this.heap[parent];
      hole = parent;
    }
    this.heap[hole] = { at, item };
  }

  /** Removes and yields all items that are due at `now`, the earliest first. */
  *takeAll(now: number): Iterable<T> {
    while (this.nextAt <= now) {
      const [{ item }] = this.heap;
      const last = this.heap.pop();
      if (last !== undefined && this.heap.length > 0) this.sink(last);
      yield item;
    }
  }

  private sink(due: Due<T>): void {
    let hole = 0;
    for (;;) {
      let child = hole * 2 + 1;
      if (child >= this.heap.length) break;
      if (child + 1 < this.heap.length && this.heap[child + 1].at < this.heap[child].at) child += 1;
      if (this.heap[child].at >= due.at) break;
      this.heap[hole] = this.heap[child];
      hole = child;
    }
    this.heap[hole] = due;
  }
}
