import * as fc from 'fast-check';
import { mostSimilar, TrigramIndex } from './trigram.index.js';

const word = fc
  .array(fc.constantFrom('code', 'build', 'rev', 'iew', '.', '-', 'ü', '7', '+'), { minLength: 1, maxLength: 6 })
  .map((parts) => parts.join(''));

describe('the trigram index', () => {
  it('S3.12 finds the same words as a comparison with every word, even after words were added and removed', () => {
    fc.assert(
      fc.property(fc.uniqueArray(word), fc.uniqueArray(word), word, (kept, removed, query) => {
        const index = new TrigramIndex(kept);
        for (const other of removed) index.add(other);
        for (const other of removed) if (!kept.includes(other)) index.remove(other);
        expect(index.mostSimilar(query)).toEqual(mostSimilar(query, kept));
      }),
    );
  });

  it('S3.12 returns at most the requested number of words', () => {
    const index = new TrigramIndex(['build', 'builder', 'building']);
    expect(index.mostSimilar('buildr', 2)).toEqual(mostSimilar('buildr', ['build', 'builder', 'building'], 2));
  });
});
