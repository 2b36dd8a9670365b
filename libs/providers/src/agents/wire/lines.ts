import { ProviderError } from '../../errors.js';

/** In characters. */
export const LONGEST_LINE = 1 << 20;

/** The lines of a byte stream, as they are completed. Empty ones are passed over, endless ones refused. */
export async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of bytes) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > LONGEST_LINE)
      throw new ProviderError('AGENT_ANSWER_UNREADABLE', `A line is longer than ${LONGEST_LINE} characters.`);
    yield* lines.filter((line) => line.trim() !== '');
  }
  if (rest.trim() !== '') yield rest;
}
