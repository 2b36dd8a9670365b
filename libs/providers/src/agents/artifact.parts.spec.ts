import { ArtifactParts } from './artifact.parts.js';
import { type ContentPart, textPart } from './content.part.js';

const DATA: ContentPart = { type: 'data', data: { a: [1] } };

describe('S1.10 the parts of artifacts', () => {
  it('joins consecutive texts of one artifact, and keeps the order of artifacts', () => {
    const artifacts = new ArtifactParts();
    artifacts.apply({ id: 'b', parts: [textPart('1')], append: true });
    artifacts.apply({ id: 'a', parts: [textPart('x')], append: false });
    artifacts.apply({ id: 'b', parts: [textPart('2'), DATA, textPart('3')], append: true });
    artifacts.apply({ id: 'b', parts: [textPart('4')], append: true });
    expect(artifacts.parts).toEqual([textPart('12'), DATA, textPart('34'), textPart('x')]);
  });

  it('replaces an artifact', () => {
    const artifacts = new ArtifactParts();
    artifacts.apply({ id: 'a', parts: [textPart('1'), DATA], append: false });
    artifacts.apply({ id: 'a', parts: [textPart('2')], append: false });
    expect(artifacts.parts).toEqual([textPart('2')]);
  });

  it.each([
    { whole: [textPart('He')], addition: undefined },
    { whole: [textPart('Hello')], addition: undefined },
    { whole: [textPart('Hello'), { type: 'data', data: 2 }, textPart('yo')], addition: undefined },
    { whole: [textPart('Hello'), DATA, DATA], addition: undefined },
    { whole: [textPart('Hello'), DATA, textPart('yo')], addition: [] },
    { whole: [textPart('Hel'), textPart('lo'), DATA, textPart('yo')], addition: [] },
    { whole: [textPart('Hello'), DATA, textPart('you')], addition: [textPart('u')] },
    { whole: [textPart('Hello'), DATA, textPart('you'), DATA], addition: [textPart('u'), DATA] },
  ] as { whole: ContentPart[]; addition: ContentPart[] | undefined }[])(
    'finds what a repeated artifact adds: $whole',
    ({ whole, addition }) => {
      const artifacts = new ArtifactParts();
      expect(artifacts.additionOf('a', whole)).toEqual(expect.any(Array)); // all of it is new
      artifacts.apply({ id: 'a', parts: [textPart('Hello'), DATA, textPart('yo')], append: false });
      expect(artifacts.additionOf('a', whole)).toEqual(addition);
    },
  );
});
