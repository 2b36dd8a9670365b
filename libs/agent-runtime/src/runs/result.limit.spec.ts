import * as fc from 'fast-check';
import { type ContentPart, textPart } from '#rollcall/providers';
import { limitedParts, limitedStep, MAX_RESULT_BYTES } from './result.limit.js';
import type { RunStep } from './run.step.js';

const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
const LIMIT = 4_096;

const parts = fc.array(
  fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 3_000 }).map(textPart),
    fc.string({ unit: fc.constantFrom('\0', '"', '\\', '\n', '😀', 'x'), maxLength: 3_000 }).map(textPart),
    fc.jsonValue().map((data): ContentPart => ({ type: 'data', data })),
    fc
      .string({ unit: fc.constantFrom('A', 'b'), maxLength: 6_000 })
      .map((bytes): ContentPart => ({ type: 'file', bytes, mediaType: 'text/plain' })),
  ),
  { maxLength: 8 },
);

describe('the size of a result', () => {
  it('S-4 any result fits into the limit after it was cut, and cutting it again changes nothing', () => {
    fc.assert(
      fc.property(parts, (all) => {
        const limited = limitedParts(all, LIMIT);
        expect(sizeOf(limited)).toBeLessThanOrEqual(LIMIT);
        expect(limitedParts(limited, LIMIT)).toBe(limited);
        if (sizeOf(all) <= LIMIT) return expect(limited).toBe(all);
        const originalBytes = sizeOf(all);
        expect(limited.at(-1)).toMatchObject({ type: 'data', data: { truncated: true, originalBytes } });
      }),
    );
  });

  it('S-4 the beginning of a long text is kept, a file that does not fit is left out, and what fits after it is kept', () => {
    const file: ContentPart = { type: 'file', bytes: 'A'.repeat(2 * LIMIT), mediaType: 'image/png' };
    const cut = limitedParts([textPart('first'), file, textPart('second'), textPart('y'.repeat(LIMIT))], LIMIT);
    expect(cut.map((part) => (part.type === 'text' ? part.text.slice(0, 6) : part.type))).toEqual([
      'first',
      'second',
      'yyyyyy',
      'data',
    ]);
    expect(sizeOf(cut)).toBeGreaterThan(LIMIT * 0.7);
  });

  it('S-4 a character is not cut in half', () => {
    for (let before = 0; before < 4; before += 1) {
      const [text] = limitedParts([textPart('x'.repeat(before) + '😀'.repeat(LIMIT))], LIMIT);
      expect(text?.type === 'text' && text.text.isWellFormed()).toBe(true);
    }
  });

  const huge = 'z'.repeat(2 * MAX_RESULT_BYTES);
  it.each<[name: string, step: RunStep]>([
    [
      'the reply of a model',
      {
        type: 'model-replied',
        turn: 1,
        reply: { content: [textPart(huge)], finish: 'stop', usage: {} },
      } as unknown as RunStep,
    ],
    ['the output of a tool', { type: 'tool-finished', turn: 1, callId: 'c', name: 'read', output: huge }],
    ['the output of a tool of another agent', { type: 'tool-result', id: 'c', name: 'read', output: huge }],
    [
      'the answer of a remote agent',
      { type: 'finished', result: { outcome: 'completed', parts: [textPart(huge)], usage: {} } },
    ],
  ])('S-4 %s is cut with a mark', (_name, step) => {
    const limited = limitedStep(step);
    expect(sizeOf(limited)).toBeLessThan(MAX_RESULT_BYTES * 1.01);
    expect(JSON.stringify(limited)).toContain('truncated');
    expect(limitedStep(limited)).toBe(limited);
  });

  it('S-4 a step within the limit is the same object', () => {
    const step: RunStep = { type: 'tool-result', id: 'c', name: 'read', output: 'short' };
    expect(limitedStep(step)).toBe(step);
  });
});
