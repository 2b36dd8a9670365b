import { MapRunMemory } from './map.run-memory.js';

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

  it('S2.2 is restored from its snapshot, which is plain JSON', () => {
    const memory = new MapRunMemory();
    memory.set('a', { list: [1, null] });
    memory.set('constructor', 'text');
    const stored = JSON.parse(JSON.stringify(memory.snapshot())) as Record<string, unknown>;
    expect(new MapRunMemory(stored).snapshot()).toEqual(memory.snapshot());
  });

  it('S2.2 limits the total size and the number of keys, and stays as it was when a value is rejected', () => {
    const memory = new MapRunMemory({}, { maxKeys: 2, maxBytes: 100 });
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
    expect(memory.snapshot()).toEqual({});
  });
});
