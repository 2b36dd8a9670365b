import { DEFAULT_NAMESPACE, NamespaceFullError, NamespaceNotFoundError } from '#rollcall/platform';

/** A namespace that exists, and how many live agents it has, not counting the agents of the batch. */
export interface NamespaceCount {
  name: string;
  /** 0 means no limit. */
  limit: number;
  /** 0 if there is no limit. */
  agents: number;
}

/** Checks the namespaces of a batch of registrations: that they exist, and that they are not full. */
export class NamespaceRoom {
  private readonly namespaces: Map<string, NamespaceCount>;

  /**
   * `counts` has each existing namespace of the batch. Only the default namespace may be missing: it always exists, so it is not
   * looked up if it has no limit.
   */
  constructor(counts: readonly NamespaceCount[]) {
    this.namespaces = new Map(counts.map((count) => [count.name, { ...count }]));
  }

  /** Returns an error if the namespace does not exist or is full. An agent that replaces a live one is always accepted. */
  error(name: string, replacing: boolean): Error | undefined {
    const namespace = this.namespaces.get(name);
    if (!namespace) return name === DEFAULT_NAMESPACE ? undefined : new NamespaceNotFoundError(name);
    const isFull = namespace.limit > 0 && !replacing && namespace.agents >= namespace.limit;
    return isFull ? new NamespaceFullError('live agents', namespace.limit) : undefined;
  }

  add(name: string, change: 1 | -1): void {
    const namespace = this.namespaces.get(name);
    if (namespace) namespace.agents += change;
  }
}
