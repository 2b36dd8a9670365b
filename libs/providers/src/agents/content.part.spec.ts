import * as fc from 'fast-check';
import { Secret } from '../secrets/secret.js';
import { type ContentPart, redactParts, textOfParts, textPart } from './content.part.js';

const KEY = 'key-0123456789';
const redact = (text: string): string => new Secret(KEY).redactIn(text);
const file = (content: Buffer): ContentPart => ({
  type: 'file',
  bytes: content.toString('base64'),
  mediaType: 'text/plain',
});

describe('S1.10 redacted parts', () => {
  it('do not contain the key at any position of a file', () => {
    for (let before = 0; before < 4; before += 1) {
      const [part] = redactParts([file(Buffer.from(`${'x'.repeat(before)}${KEY}yz`))], redact);
      expect(part).toEqual(file(Buffer.from(`${'x'.repeat(before)}[secret]yz`)));
    }
  });

  it('contain an unchanged copy of a file in which there is no key', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (content) => {
        const part = file(Buffer.from(content));
        expect(redactParts([part], redact)).toEqual([part]);
      }),
    );
  });

  it('do not contain a key that is split between texts', () => {
    const data: ContentPart = { type: 'data', data: { echo: [KEY] } };
    const parts = redactParts([textPart(`a ${KEY.slice(0, 5)}`), data, textPart(`${KEY.slice(5)} b`)], redact);
    expect(parts).toEqual([textPart('a [secret] b'), { type: 'data', data: { echo: ['[secret]'] } }]);
    expect(textOfParts(parts)).not.toContain(KEY);
  });

  it('do not contain the key in a name or an address', () => {
    const part: ContentPart = { type: 'file', url: `https://a.example/?k=${KEY}`, mediaType: 'a/b', name: KEY };
    expect(JSON.stringify(redactParts([part], redact))).not.toContain(KEY);
  });
});
