import * as fc from 'fast-check';
import { ArtifactSchema, PartSchema } from './wire.schema.js';

const read = (part: unknown): unknown => PartSchema.safeParse(part).data;

describe('S1.10 a part on the wire', () => {
  it('reads a file in both alphabets of Base64, with and without padding, byte for byte', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 50 }), (content) => {
        const bytes = Buffer.from(content).toString('base64');
        const spellings = [bytes, bytes.replace(/=+$/, ''), Buffer.from(content).toString('base64url')];
        for (const spelling of spellings)
          expect(read({ type: 'file', bytes: spelling, mediaType: 'image/png' })).toEqual({
            type: 'file',
            bytes,
            mediaType: 'image/png',
          });
      }),
    );
  });

  it('rejects a file with a character that is not Base64', () => {
    const characters = fc.constantFrom('!', ' ', '\n', 'ä', '=', '.', '\u0000');
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 20 }), fc.nat(), characters, (content, at, character) => {
        const text = Buffer.from(content).toString('base64url');
        const index = at % text.length;
        const bytes = text.slice(0, index) + character + text.slice(index);
        expect(read({ type: 'file', bytes })).toBeUndefined();
      }),
    );
    for (const bytes of ['A', '===', 'AAAAA', 'A===']) expect(read({ type: 'file', bytes })).toBeUndefined();
  });

  it.each([
    { type: 'picture', bytes: '' },
    { type: 'file' },
    { type: 'file', bytes: null, url: null },
    { type: 'file', url: '/relative' },
    { type: 'file', bytes: 5 },
    { type: 'text' },
    'text',
    null,
  ])('rejects %j', (part) => {
    expect(read(part)).toBeUndefined();
  });

  it('uses defaults for missing and null fields', () => {
    const mediaType = 'application/octet-stream';
    expect(read({ type: 'file', bytes: '', name: null })).toEqual({ type: 'file', bytes: '', mediaType });
    expect(read({ type: 'file', url: 'https://a.example/b', bytes: null })).toEqual({
      type: 'file',
      url: 'https://a.example/b',
      mediaType,
    });
    expect(read({ type: 'data', data: null, mediaType: null })).toEqual({ type: 'data', data: null });
    const artifact = { id: 'a', name: null, parts: [], append: null };
    expect(ArtifactSchema.parse(artifact)).toEqual({ id: 'a', parts: [], append: false, last: false });
  });
});
