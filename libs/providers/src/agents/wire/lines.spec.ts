import { linesOf } from './lines.js';

async function read(chunks: string[], maxLength: number): Promise<string[]> {
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (const chunk of chunks) yield await Promise.resolve(Buffer.from(chunk));
  }
  const lines: string[] = [];
  for await (const line of linesOf(bytes(), maxLength)) lines.push(line);
  return lines;
}

describe('the lines of a byte stream', () => {
  it('yields lines up to the limit, however the stream is divided, and skips empty lines', async () => {
    expect(await read(['abcde\n\nab', 'cde\n', 'abcde'], 5)).toEqual(['abcde', 'abcde', 'abcde']);
  });

  it.each([
    ['with its end in the same chunk', ['abcdef\n']],
    ['with its end in the next chunk', ['abc', 'def\n']],
    ['without an end', ['ab\nabcdef']],
  ])('rejects a line above the limit, %s', async (_name, chunks) => {
    await expect(read(chunks, 5)).rejects.toMatchObject({
      code: 'AGENT_ANSWER_UNREADABLE',
      message: 'A line is longer than 5 characters.',
    });
  });
});
