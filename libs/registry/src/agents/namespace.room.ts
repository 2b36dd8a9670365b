import { DEFAULT_NAMESPACE, NamespaceFullError, NamespaceNotFoundError } from '#rollcall/platform';

/** A namespace that exists, with its number of live agents apart from those of the batch. */
export interface NamespaceCount {
  name: string;
  /** 0 means no limit. */
  limit: number;
  /** 0 if there is no limit. */
  agents: number;
}

/** Decides which namespaces accept another agent while a batch of registrations is decided. */
export class NamespaceRoom {
  private readonly namespaces: Map<string, NamespaceCount>;

  /** `counts` has each namespace of the batch that exists. The default namespace is missing if it has no limit. */
  constructor(counts: readonly NamespaceCount[]) {
    this.namespaces = new Map(counts.map((count) => [count.name, { ...count }]));
  }

  /** Returns an error if the namespace does not exist or is full. With `replacing`, the agent replaces a live one. */
  error(name: string, replacing: boolean): Error | undefined {
    const namespace = this.namespaces.get(name);
    if (!namespace) return name === DEFAULT_NAMESPACE ? undefined : new NamespaceNotFoundError(name);
    const others = namespace.agents - (replacing ? 1 : 0);
    const isFull = namespace.limit > 0 && others >= namespace.limit;
    return isFull ? new NamespaceFullError('live agents', namespace.limit) : undefined;
  }

  add(name: string, change: 1 | -1): void {
    const namespace = this.namespaces.get(name);
    if (namespace) namespace.agents += change;
  }
}
