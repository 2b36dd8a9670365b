/** Values that the tools of one run share. They are plain JSON, so that a run can be stored. */
export interface RunMemory {
  get(key: string): unknown;
  set(key: string, value: unknown): void;
  delete(key: string): void;
  keys(): readonly string[];
}

/** A key with its new value, numbered in the order of all changes of the run. If the value is absent, the key was deleted. */
export interface MemoryChange {
  readonly key: string;
  readonly version: number;
  readonly value?: unknown;
}

/**
 * The memory as one tool call sees it. It also records what the call changes. The changes are stored with the result of the call, so
 * that a resumed run has them, and a call that is repeated does not find its own earlier changes.
 */
export interface CallMemory extends RunMemory {
  /** The last change of each key; undefined if the call changed nothing. */
  readonly changes: readonly MemoryChange[] | undefined;
}

/** Returns the last change of each key. The calls of a turn do not end in the order in which they changed the memory. */
export function mergedChanges(
  earlier: readonly MemoryChange[] = [],
  later: readonly MemoryChange[] = [],
): readonly MemoryChange[] {
  const last = new Map(earlier.map((change) => [change.key, change]));
  for (const change of later) if (change.version > (last.get(change.key)?.version ?? 0)) last.set(change.key, change);
  return [...last.values()];
}
