import { ProviderError } from '../../errors.js';

/** The limit in characters. */
export const MAX_LINE_LENGTH = 1 << 20;

/** Yields the lines of a byte stream. It skips empty lines and throws if a line is too long. */
export async function* linesOf(bytes: AsyncIterable<Uint8Array>, maxLength = MAX_LINE_LENGTH): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of bytes) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    if (lines.some((line) => line.length > maxLength))
      throw new ProviderError('AGENT_ANSWER_UNREADABLE', `A line is longer than ${maxLength} characters.`);
    rest = lines.pop() ?? '';
    yield* lines.filter((line) => line.trim() !== '');
  }
  if (rest.trim() !== '') yield rest;
}
