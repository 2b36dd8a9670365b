import { nameSourcesInStackTraces } from './stack-traces.js';

describe('stack traces', () => {
  const original = Error.prepareStackTrace;
  beforeEach(() => nameSourcesInStackTraces());
  afterEach(() => void (Error.prepareStackTrace = original));

  it('a stack trace has the name, the message and the frames of the error', () => {
    const lines = new TypeError('not a number').stack?.split('\n') ?? [];
    expect(lines[0]).toBe('TypeError: not a number');
    expect(lines[1]).toMatch(/^ {4}at .*stack-traces\.spec\.ts:\d+:\d+/);
  });

  it('a stack trace exists for an error that cannot be converted to text', () => {
    const error = Object.defineProperty(new Error('x'), 'message', { value: { toString: null, valueOf: null } });
    expect(error.stack).toMatch(/^\S*Error\b/);
  });
});
