import { MapRunMemory, type MemoryChange, mergedChanges } from './run.memory.js';

function valuesOf(memory: MapRunMemory): Record<string, unknown> {
  return Object.fromEntries(memory.keys().map((key) => [key, memory.get(key)]));
}

describe('the memory of a run', () => {
  it('S2.2 keeps JSON values, and returns copies', () => {
    const memory = new MapRunMemory();
    const value = { list: [1] };
    memory.set('a', value);
    value.list.push(2);
    (memory.get('a') as typeof value).list.push(3);
    expect(memory.get('a')).toEqual({ list: [1] });
    expect(memory.get('b')).toBeUndefined();
    expect(memory.keys()).toEqual(['a']);
    memory.delete('a');
    memory.delete('a');
    expect(memory.keys()).toEqual([]);
  });

  it('S2.2 B6 is restored from the changes of its calls, which are plain JSON', () => {
    const memory = new MapRunMemory();
    const [first, second] = [memory.ofCall(), memory.ofCall()];
    first.set('a', 'old');
    first.set('a', { list: [1, null] });
    first.set('constructor', 'text');
    second.set('b', 1);
    second.delete('b');
    expect(memory.ofCall().changes).toBeUndefined();
    const stored = JSON.parse(JSON.stringify(mergedChanges(first.changes, second.changes))) as MemoryChange[];
    expect(valuesOf(new MapRunMemory(stored))).toEqual(valuesOf(memory));
    expect(memory.keys()).toEqual(['a', 'constructor']);
  });

  it('S2.2 B6 keeps the last change if two calls change the same key, in whichever order the calls end', () => {
    const memory = new MapRunMemory();
    const [first, second] = [memory.ofCall(), memory.ofCall()];
    first.set('a', 1);
    second.set('a', 2);
    first.set('b', 1);
    second.delete('b');
    for (const changes of [mergedChanges(first.changes, second.changes), mergedChanges(second.changes, first.changes)])
      expect(valuesOf(new MapRunMemory(changes))).toEqual({ a: 2 });
  });

  it('S2.2 B6 changes after the restoration are later than all restored changes', () => {
    const call = new MapRunMemory([{ key: 'a', version: 7, value: 1 }]).ofCall();
    call.set('a', 2);
    expect(mergedChanges([{ key: 'a', version: 7, value: 1 }], call.changes)).toMatchObject([{ key: 'a', value: 2 }]);
  });

  it('S2.2 B6 restores all stored values, and then rejects values above the limits', () => {
    const stored = ['a', 'b'].map((key, at) => ({ key, version: at + 1, value: 'x'.repeat(60) }));
    const memory = new MapRunMemory(stored, { maxKeys: 1, maxBytes: 100 });
    expect(memory.keys()).toEqual(['a', 'b']);
    expect(() => memory.set('a', 'x'.repeat(50))).toThrow('limited to 100 bytes');
    memory.delete('b');
    memory.set('a', 'x'.repeat(50));
  });

  it('S2.2 limits the total size and the number of keys, and does not change when a value is rejected', () => {
    const memory = new MapRunMemory([], { maxKeys: 2, maxBytes: 100 });
    memory.set('a', 'x'.repeat(50));
    expect(() => memory.set('b', 'x'.repeat(50))).toThrow('limited to 100 bytes');
    memory.set('a', 'x'.repeat(80));
    memory.set('a', 'short');
    memory.set('b', 'x'.repeat(50));
    expect(() => memory.set('c', 1)).toThrow('limited to 2 keys');
    memory.delete('b');
    memory.set('c', 'x'.repeat(50));
    expect(memory.keys()).toEqual(['a', 'c']);
  });

  it.each([
    ['undefined', 'a', undefined],
    ['a BigInt', 'a', 1n],
    ['a huge value', 'a', 'x'.repeat(1_000_000)],
    ['a value with __proto__', 'a', JSON.parse('{"__proto__":{"x":1}}')],
    ['an empty key', '', 1],
    ['the key __proto__', '__proto__', 1],
    ['a long key', 'x'.repeat(101), 1],
  ])('S2.2 rejects %s', (_name, key, value) => {
    const memory = new MapRunMemory();
    expect(() => memory.set(key, value)).toThrow(expect.objectContaining({ code: 'RUN_MEMORY_REJECTED' }) as Error);
    expect(valuesOf(memory)).toEqual({});
  });
});
