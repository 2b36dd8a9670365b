import { jsonProblem } from './json.check.js';
import type { RunMemory } from './run.memory.js';
import { RunMemoryError } from './tool.errors.js';

export interface RunMemoryLimits {
  readonly maxKeys: number;
  /** The size of all keys and values as JSON. */
  readonly maxBytes: number;
}

export const DEFAULT_MEMORY_LIMITS: RunMemoryLimits = { maxKeys: 100, maxBytes: 64 * 1_024 };

const MAX_KEY_LENGTH = 100;

/**
 * The memory of a run, in the memory of the process. Values are stored as JSON, so a tool that changes a value after `get` or `set`
 * does not change the memory. `snapshot` returns all values, and the constructor restores them.
 */
export class MapRunMemory implements RunMemory {
  private readonly texts = new Map<string, string>();
  private bytes = 0;

  constructor(
    snapshot: Readonly<Record<string, unknown>> = {},
    private readonly limits: RunMemoryLimits = DEFAULT_MEMORY_LIMITS,
  ) {
    for (const [key, value] of Object.entries(snapshot)) this.set(key, value);
  }

  get(key: string): unknown {
    const text = this.texts.get(key);
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
  }

  set(key: string, value: unknown): void {
    checkKey(key);
    const text = this.textOf(key, value);
    const bytes = this.bytes - this.sizeOf(key) + size(key, text);
    const { maxBytes, maxKeys } = this.limits;
    if (bytes > maxBytes) throw new RunMemoryError(`The memory of the run is limited to ${maxBytes} bytes.`);
    if (!this.texts.has(key) && this.texts.size >= maxKeys)
      throw new RunMemoryError(`The memory of the run is limited to ${maxKeys} keys.`);
    this.texts.set(key, text);
    this.bytes = bytes;
  }

  delete(key: string): void {
    this.bytes -= this.sizeOf(key);
    this.texts.delete(key);
  }

  keys(): readonly string[] {
    return [...this.texts.keys()];
  }

  /** All values as plain JSON. */
  snapshot(): Record<string, unknown> {
    return Object.fromEntries(this.keys().map((key) => [key, this.get(key)]));
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

function size(key: string, text: string): number {
  return Buffer.byteLength(key) + Buffer.byteLength(text);
}

function checkKey(key: string): void {
  if (key !== '' && key.length <= MAX_KEY_LENGTH && key !== '__proto__') return;
  throw new RunMemoryError(`A key of the memory must have 1 to ${MAX_KEY_LENGTH} characters.`);
}
