import * as fc from 'fast-check';
import { type ModelMessage, userMessage } from '#rollcall/providers';
import { estimateMessages, estimateText } from '../loop/token.estimate.js';
import { shortened } from './shortened.request.js';

const result = (output: string): ModelMessage => ({
  role: 'tool',
  content: [{ type: 'tool-result', id: '1', name: 'read', output }],
});

describe('a shortened request', () => {
  it('B2 has at most the allowed tokens, keeps short results, and is undefined only if the other messages are too long', () => {
    const outputs = fc.array(
      fc.oneof(fc.string({ maxLength: 3_000, unit: 'grapheme' }), fc.constant('x'.repeat(2_000))),
      { maxLength: 6 },
    );
    fc.assert(
      fc.property(outputs, fc.nat(5_000), (texts, maxTokens) => {
        const messages = [userMessage('Hello'), ...texts.map(result)];
        const request = shortened({ messages }, maxTokens);
        if (request) {
          expect(estimateMessages(request.messages)).toBeLessThanOrEqual(maxTokens);
          expect(request.messages).toHaveLength(messages.length);
        } else {
          const least = texts.map((text) => result('x'.repeat(Math.min(54, estimateText(text) * 3))));
          expect(estimateMessages([userMessage('Hello'), ...least])).toBeGreaterThan(maxTokens - texts.length);
        }
      }),
    );
  });

  it('B2 a request that fits is unchanged', () => {
    const request = { messages: [userMessage('Hello'), result('short')] };
    expect(shortened(request, 1_000)).toBe(request);
  });
});
