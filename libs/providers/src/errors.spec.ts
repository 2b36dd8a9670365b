import { findProviderError, ProviderError } from './errors.js';

describe('the search for a ProviderError in the causes of an error', () => {
  it('finds an error that libraries wrapped', () => {
    const inner = new ProviderError('EGRESS_DENIED', 'no');
    expect(findProviderError(new Error('outer', { cause: new TypeError('middle', { cause: inner }) }))).toBe(inner);
  });

  it('ends when the causes are a cycle', () => {
    const first = new Error('first');
    first.cause = new Error('second', { cause: first });
    expect(findProviderError(first)).toBeUndefined();
  });

  it.each([undefined, null, 'text', new Error('no cause')])('finds nothing in %s', (error) => {
    expect(findProviderError(error)).toBeUndefined();
  });
});
