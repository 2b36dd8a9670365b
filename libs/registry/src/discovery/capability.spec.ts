import * as fc from 'fast-check';
import { CapabilityAliases } from './capability.aliases.js';
import { matchesCapability, capabilityKeys, normaliseCapability, withAncestors } from './capability.js';
import { CapabilityAliasError } from './discovery.errors.js';
import { mostSimilar, similarity } from './trigram.js';

describe('capabilities', () => {
  it('S3.12 are the same in any case and spacing', () => {
    for (const text of ['code.build', ' Code.Build ', 'CODE . BUILD', 'code..build', '.code.build.']) {
      expect(normaliseCapability(text)).toBe('code.build');
    }
    expect(normaliseCapability('Can  code')).toBe('can-code');
    expect(normaliseCapability('can_code')).toBe('can-code');
  });

  it('A1 normalises level by level, with the same result as one substitution after the other', () => {
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

  it('S3.12 contain those below them: who claims code.build answers code', () => {
    expect(matchesCapability('code.build', 'code')).toBe(true);
    expect(matchesCapability('code.build', 'code.build')).toBe(true);
    expect(withAncestors('code.build.rust')).toEqual(['code.build.rust', 'code.build', 'code']);
  });

  it('S3.12 are not answered by the wider claim, nor by one that only begins alike', () => {
    expect(matchesCapability('code', 'code.build')).toBe(false);
    expect(matchesCapability('codex', 'code')).toBe(false);
    expect(matchesCapability('code-generation', 'code')).toBe(false);
  });

  it('S3.12 are answered by just the claims that contain them', () => {
    const word = fc
      .array(fc.constantFrom('a', 'b', 'ab'), { minLength: 1, maxLength: 3 })
      .map((parts) => parts.join('.'));
    fc.assert(
      fc.property(word, word, (claim, asked) => {
        expect(matchesCapability(claim, asked)).toBe(withAncestors(claim).includes(asked));
      }),
    );
  });
});

describe('capability aliases', () => {
  it('S3.12 lead Postgres to everyone who answers: a claim that does has one of the words among its keys', () => {
    const word = fc
      .array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 3 })
      .map((parts) => parts.join('.'));
    fc.assert(
      fc.property(fc.dictionary(word, word, { maxKeys: 4 }), word, word, (given, claim, asked) => {
        const aliases = possible(given);
        fc.pre(aliases !== undefined);
        if (!matchesCapability(aliases.resolve(claim), aliases.resolve(asked))) return;
        const words = aliases.searchKeysFor(asked);
        expect(capabilityKeys([claim]).some((key) => words.includes(key))).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  const aliases = new CapabilityAliases({ 'can code': 'code', coding: 'Can-Code', builder: 'code.build' });

  it('S3.12 stand for what they mean, also by way of another alias', () => {
    expect(aliases.resolve('Can Code')).toBe('code');
    expect(aliases.resolve('coding')).toBe('code');
    expect(aliases.resolve('plan')).toBe('plan');
  });

  it('S3.12 hold for what is below them', () => {
    expect(aliases.resolve('coding.rust')).toBe('code.rust');
    expect(aliases.resolve('builder.fast')).toBe('code.build.fast');
    expect(new CapabilityAliases({ a: 'b', 'b.x': 'c' }).resolve('a.x')).toBe('c');
  });

  it('S3.12 give a list without doubles, sorted', () => {
    expect(aliases.resolveAll(['plan', 'coding', 'code', ' ', 'PLAN'])).toEqual(['code', 'plan']);
  });

  it('S3.12 refuse to go round in a circle, to grow, or to mean nothing', () => {
    expect(() => new CapabilityAliases({ a: 'b', b: 'a' })).toThrow(CapabilityAliasError);
    expect(() => new CapabilityAliases({ code: 'code.build' })).toThrow('is a cycle');
    expect(() => new CapabilityAliases({ a: ' ' })).toThrow('empty name');
    expect(new CapabilityAliases({ a: 'a' }).resolve('a')).toBe('a');
  });

  it('S3.12 resolve to something that resolves to itself', () => {
    const word = fc
      .array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 2 })
      .map((parts) => parts.join('.'));
    fc.assert(
      fc.property(fc.dictionary(word, word, { maxKeys: 4 }), word, (map, asked) => {
        let some: CapabilityAliases;
        try {
          some = new CapabilityAliases(map);
        } catch (error) {
          expect(error).toBeInstanceOf(CapabilityAliasError);
          return;
        }
        const meant = some.resolve(asked);
        expect(some.resolve(meant)).toBe(meant);
      }),
    );
  });
});

describe('similarity of spelling', () => {
  it('S3.12 is 1 for the same words, 0 for nothing in common, and the same both ways', () => {
    expect(similarity('code-review', 'code.review')).toBe(1);
    expect(similarity('plan', 'build')).toBe(0);
    expect(similarity('', '')).toBe(0);
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        expect(similarity(one, other)).toBe(similarity(other, one));
      }),
    );
  });

  it('S3.12 finds the nearest words first, and none that are only coincidence', () => {
    const vocabulary = ['build', 'builder', 'plan', 'rebuild', 'test'];
    expect(mostSimilar('biuld', ['plan'])).toEqual([]);
    expect(mostSimilar('buildd', vocabulary)).toEqual(['build', 'builder']);
    expect(mostSimilar('buildd', vocabulary, 1)).toEqual(['build']);
  });
});

/** Undefined when they go round in a circle. */
function possible(given: Record<string, string>): CapabilityAliases | undefined {
  try {
    return new CapabilityAliases(given);
  } catch (error) {
    if (error instanceof CapabilityAliasError) return undefined;
    throw error;
  }
}
