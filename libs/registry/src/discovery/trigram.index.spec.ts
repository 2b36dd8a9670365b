import * as fc from 'fast-check';
import { mostSimilar } from './trigram.js';
import { TrigramIndex } from './trigram.index.js';

const word = fc
  .array(fc.constantFrom('code', 'build', 'rev', 'iew', '.', '-', 'ü', '7', '+'), { minLength: 1, maxLength: 6 })
  .map((parts) => parts.join(''));

describe('the index of similar words', () => {
  it('S3.12 finds what comparing with every word finds, also after words came and went', () => {
    fc.assert(
      fc.property(fc.uniqueArray(word), fc.uniqueArray(word), word, (kept, gone, asked) => {
        const index = new TrigramIndex(kept);
        for (const other of gone) index.add(other);
        for (const other of gone) if (!kept.includes(other)) index.remove(other);
        expect(index.mostSimilar(asked)).toEqual(mostSimilar(asked, kept));
      }),
    );
  });

  it('S3.12 shows as many as it is asked for', () => {
    const index = new TrigramIndex(['build', 'builder', 'building']);
    expect(index.mostSimilar('buildr', 2)).toEqual(mostSimilar('buildr', ['build', 'builder', 'building'], 2));
  });
});
