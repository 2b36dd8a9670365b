import * as fc from 'fast-check';
import { CapabilityAliasError, CapabilityAliases } from './capability.aliases.js';
import { capabilityKeys, matchesCapability, normaliseCapability, withAncestors } from './capability.js';
import { mostSimilar, similarity } from './trigram.index.js';

describe('capabilities', () => {
  it('S3.12 capabilities are equal regardless of case and spacing', () => {
    for (const text of ['code.build', ' Code.Build ', 'CODE . BUILD', 'code..build', '.code.build.']) {
      expect(normaliseCapability(text)).toBe('code.build');
    }
    expect(normaliseCapability('Can  code')).toBe('can-code');
    expect(normaliseCapability('can_code')).toBe('can-code');
  });

  it('A1 normalises capabilities level by level, with the same result as successive substitutions', () => {
    const stepwise = (text: string): string =>
      text
        .trim()
        .toLowerCase()
        .replace(/\s*\.\s*/g, '.')
        .replace(/[\s_]+/g, '-')
        .replace(/\.{2,}/g, '.')
        .replace(/^\.|\.$/g, '');
    const unit = fc.constantFrom('a', 'B', '.', ' ', '_', '\t', '-', '\u00a0', 'İ');
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 12 }), (text) => {
        expect(normaliseCapability(text)).toBe(stepwise(text));
      }),
      { numRuns: 5_000 },
    );
  });

  it('S3.12 a capability matches a wider query: a claim of code.build matches code', () => {
    expect(matchesCapability('code.build', 'code')).toBe(true);
    expect(matchesCapability('code.build', 'code.build')).toBe(true);
    expect(withAncestors('code.build.rust')).toEqual(['code.build.rust', 'code.build', 'code']);
  });

  it('S3.12 a capability matches neither a narrower query nor a query that is only a prefix of the name', () => {
    expect(matchesCapability('code', 'code.build')).toBe(false);
    expect(matchesCapability('codex', 'code')).toBe(false);
    expect(matchesCapability('code-generation', 'code')).toBe(false);
  });

  it('S3.12 a capability matches exactly the queries that are the claim or one of its ancestors', () => {
    const word = fc
      .array(fc.constantFrom('a', 'b', 'ab'), { minLength: 1, maxLength: 3 })
      .map((parts) => parts.join('.'));
    fc.assert(
      fc.property(word, word, (declared, query) => {
        expect(matchesCapability(declared, query)).toBe(withAncestors(declared).includes(query));
      }),
    );
  });
});

describe('capability aliases', () => {
  it('S3.12 the search keys of a query include at least one key of every matching claim', () => {
    const word = fc
      .array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 3 })
      .map((parts) => parts.join('.'));
    fc.assert(
      fc.property(fc.dictionary(word, word, { maxKeys: 4 }), word, word, (map, declared, query) => {
        const aliases = aliasesOf(map);
        fc.pre(aliases !== undefined);
        if (!matchesCapability(aliases.resolve(declared), aliases.resolve(query))) return;
        const words = aliases.searchKeysFor(query);
        expect(capabilityKeys([declared]).some((key) => words.includes(key))).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  const aliases = new CapabilityAliases({ 'can code': 'code', coding: 'Can-Code', builder: 'code.build' });

  it('S3.12 an alias resolves to its target, even through another alias', () => {
    expect(aliases.resolve('Can Code')).toBe('code');
    expect(aliases.resolve('coding')).toBe('code');
    expect(aliases.resolve('plan')).toBe('plan');
  });

  it('S3.12 an alias applies to the levels below it', () => {
    expect(aliases.resolve('coding.rust')).toBe('code.rust');
    expect(aliases.resolve('builder.fast')).toBe('code.build.fast');
    expect(new CapabilityAliases({ a: 'b', 'b.x': 'c' }).resolve('a.x')).toBe('c');
  });

  it('S3.12 a list of aliases resolves to a sorted list without duplicates', () => {
    expect(aliases.resolveAll(['plan', 'coding', 'code', ' ', 'PLAN'])).toEqual(['code', 'plan']);
  });

  it('S3.12 rejects aliases that form a cycle, contain themselves or have an empty target', () => {
    expect(() => new CapabilityAliases({ a: 'b', b: 'a' })).toThrow(CapabilityAliasError);
    expect(() => new CapabilityAliases({ code: 'code.build' })).toThrow('is a cycle');
    expect(() => new CapabilityAliases({ a: ' ' })).toThrow('empty name');
    expect(new CapabilityAliases({ a: 'a' }).resolve('a')).toBe('a');
  });

  it('S3.12 an alias resolves to a capability that resolves to itself', () => {
    const word = fc
      .array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 2 })
      .map((parts) => parts.join('.'));
    fc.assert(
      fc.property(fc.dictionary(word, word, { maxKeys: 4 }), word, (map, query) => {
        const valid = aliasesOf(map);
        if (!valid) return;
        const resolved = valid.resolve(query);
        expect(valid.resolve(resolved)).toBe(resolved);
      }),
    );
  });
});

describe('similarity of spelling', () => {
  it('S3.12 the similarity is 1 for equal words, 0 for words that have nothing in common, and symmetric', () => {
    expect(similarity('code-review', 'code.review')).toBe(1);
    expect(similarity('plan', 'build')).toBe(0);
    expect(similarity('', '')).toBe(0);
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        expect(similarity(one, other)).toBe(similarity(other, one));
      }),
    );
  });

  it('S3.12 ranks the most similar words first and omits unrelated words', () => {
    const vocabulary = ['build', 'builder', 'plan', 'rebuild', 'test'];
    expect(mostSimilar('biuld', ['plan'])).toEqual([]);
    expect(mostSimilar('buildd', vocabulary)).toEqual(['build', 'builder']);
    expect(mostSimilar('buildd', vocabulary, 1)).toEqual(['build']);
  });
});

/** Undefined if the aliases are invalid, for example because they form a cycle. */
function aliasesOf(map: Record<string, string>): CapabilityAliases | undefined {
  try {
    return new CapabilityAliases(map);
  } catch (error) {
    if (error instanceof CapabilityAliasError) return undefined;
    throw error;
  }
}
