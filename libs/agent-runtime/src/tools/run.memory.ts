import { RuntimeError } from '../errors.js';
import { jsonProblem } from './json.check.js';

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

/** A value cannot be stored in the memory of the run. */
class RunMemoryError extends RuntimeError {
  readonly code = 'RUN_MEMORY_REJECTED';
}

interface RunMemoryLimits {
  readonly maxKeys: number;
  /** The size of all keys and values as JSON. */
  readonly maxBytes: number;
}

const DEFAULT_MEMORY_LIMITS: RunMemoryLimits = { maxKeys: 100, maxBytes: 64 * 1_024 };

const MAX_KEY_LENGTH = 100;

/**
 * Keeps the memory of a run in this process. Values are stored as JSON, so a tool that changes a value after `get` or `set`
 * does not change the memory. The constructor restores the memory of a stored run from the changes in its steps.
 */
export class MapRunMemory implements RunMemory {
  private readonly texts = new Map<string, string>();
  private bytes = 0;
  private version = 0;

  constructor(
    stored: readonly MemoryChange[] = [],
    private readonly limits: RunMemoryLimits = DEFAULT_MEMORY_LIMITS,
  ) {
    for (const change of stored) this.restore(change);
  }

  get(key: string): unknown {
    const text = this.texts.get(key);
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
  }

  /** Returns the number of the change. */
  set(key: string, value: unknown): number {
    checkKey(key);
    const text = this.textOf(key, value);
    const bytes = this.bytes - this.sizeOf(key) + size(key, text);
    const { maxBytes, maxKeys } = this.limits;
    if (bytes > maxBytes) throw new RunMemoryError(`The memory of the run is limited to ${maxBytes} bytes.`);
    if (!this.texts.has(key) && this.texts.size >= maxKeys)
      throw new RunMemoryError(`The memory of the run is limited to ${maxKeys} keys.`);
    this.texts.set(key, text);
    this.bytes = bytes;
    return (this.version += 1);
  }

  /** Returns the number of the change. */
  delete(key: string): number {
    this.bytes -= this.sizeOf(key);
    this.texts.delete(key);
    return (this.version += 1);
  }

  keys(): readonly string[] {
    return [...this.texts.keys()];
  }

  ofCall(): CallMemory {
    return new RecordedMemory(this);
  }

  /** Does not check the limits, which stored values exceed if a call that deleted other values was interrupted before it ended. */
  private restore({ key, value, version }: MemoryChange): void {
    this.version = Math.max(this.version, version);
    if (value === undefined) return;
    const text = JSON.stringify(value);
    this.texts.set(key, text);
    this.bytes += size(key, text);
  }

  private textOf(key: string, value: unknown): string {
    const problem = jsonProblem(value, { maxBytes: this.limits.maxBytes, rejectsReservedNames: true });
    const text = problem === undefined ? JSON.stringify(value) : undefined;
    if (text !== undefined) return text;
    throw new RunMemoryError(`The value of ${key} cannot be stored: it ${problem ?? 'is undefined'}.`);
  }

  private sizeOf(key: string): number {
    const text = this.texts.get(key);
    return text === undefined ? 0 : size(key, text);
  }
}

class RecordedMemory implements CallMemory {
  private changed?: Map<string, MemoryChange>;

  constructor(private readonly memory: MapRunMemory) {}

  get(key: string): unknown {
    return this.memory.get(key);
  }

  keys(): readonly string[] {
    return this.memory.keys();
  }

  set(key: string, value: unknown): void {
    const version = this.memory.set(key, value);
    this.record({ key, version, value: this.memory.get(key) });
  }

  delete(key: string): void {
    this.record({ key, version: this.memory.delete(key) });
  }

  get changes(): readonly MemoryChange[] | undefined {
    return this.changed && [...this.changed.values()];
  }

  private record(change: MemoryChange): void {
    this.changed ??= new Map();
    this.changed.set(change.key, change);
  }
}

function size(key: string, text: string): number {
  return Buffer.byteLength(key) + Buffer.byteLength(text);
}

function checkKey(key: string): void {
  if (key !== '' && key.length <= MAX_KEY_LENGTH && key !== '__proto__') return;
  throw new RunMemoryError(
    `A key of the memory must have 1 to ${MAX_KEY_LENGTH} characters, and must not be __proto__.`,
  );
}
