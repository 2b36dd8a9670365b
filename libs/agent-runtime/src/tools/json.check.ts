import { types } from 'node:util';

/** Deeper values are rejected: code that processes them recursively would overflow the stack. Cyclic values also exceed this limit. */
const MAX_DEPTH = 64;

interface JsonLimits {
  readonly maxBytes: number;
  /** Whether names that could change the prototype of an object are rejected. */
  readonly rejectsReservedNames: boolean;
}

/**
 * Returns why this value cannot be processed as JSON, as the end of the sentence "the value …". It stops at the first problem, so
 * the cost is limited even for huge and cyclic values.
 */
export function jsonProblem(value: unknown, limits: JsonLimits): string | undefined {
  return new JsonCheck(limits).problemIn(value, 0);
}

class JsonCheck {
  private bytes = 0;

  constructor(private readonly limits: JsonLimits) {}

  problemIn(value: unknown, depth: number): string | undefined {
    switch (typeof value) {
      case 'string':
        return this.count(Buffer.byteLength(value) + 2);
      case 'object':
        return value === null ? this.count(4) : this.problemInObject(value, depth);
      case 'bigint':
        return 'contains a BigInt';
      case 'function':
      case 'symbol':
        return `contains a ${typeof value}`;
      case 'number':
      case 'boolean':
      case 'undefined':
        return this.count(8);
    }
  }

  private problemInObject(value: object, depth: number): string | undefined {
    if (depth >= MAX_DEPTH) return `is cyclic, or nested deeper than ${MAX_DEPTH} levels`;
    if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) return 'contains binary data';
    if (hasOwnJson(value)) return this.count(8);
    return Array.isArray(value)
      ? this.problemInArray(value, depth)
      : this.problemInMembers(value as Record<string, unknown>, depth);
  }

  private problemInArray(values: readonly unknown[], depth: number): string | undefined {
    for (const value of values) {
      const problem = this.problemIn(value, depth + 1) ?? this.count(1);
      if (problem !== undefined) return problem;
    }
    return this.count(2);
  }

  private problemInMembers(values: Record<string, unknown>, depth: number): string | undefined {
    for (const name of Object.keys(values)) {
      const problem =
        this.problemInName(name, values) ?? this.count(name.length + 4) ?? this.problemIn(values[name], depth + 1);
      if (problem !== undefined) return problem;
    }
    return this.count(2);
  }

  private problemInName(name: string, values: Record<string, unknown>): string | undefined {
    if (!this.limits.rejectsReservedNames) return undefined;
    const isReserved = name === '__proto__' || (name === 'constructor' && hasPrototype(values[name]));
    return isReserved ? `contains the reserved name ${name}` : undefined;
  }

  private count(bytes: number): string | undefined {
    this.bytes += bytes;
    const { maxBytes } = this.limits;
    return this.bytes > maxBytes ? `is larger than the limit of ${maxBytes} bytes` : undefined;
  }
}

/** Whether the value, such as a Date, has a method `toJSON`, which JSON.stringify calls. */
function hasOwnJson(value: object): boolean {
  return typeof (value as { toJSON?: unknown }).toJSON === 'function';
}

function hasPrototype(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype');
}

/** The text without the characters that Postgres cannot store: NUL, and half of a surrogate pair. */
export function storable(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text).toWellFormed();
}
