import { z } from 'zod';
import { outputFormat } from './output.format.js';

const CITY = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};

describe('an output format', () => {
  it.each([
    ['a JSON Schema', outputFormat(CITY)],
    ['a zod schema', outputFormat(z.strictObject({ city: z.string() }))],
  ])('S2.1 checks answers with %s', async (_name, format) => {
    expect(format.schema).toMatchObject(CITY);
    expect(await format.read('{"city":"Rome"}')).toEqual({ ok: true, value: { city: 'Rome' } });
    expect(await format.read('{"city":"Rome","x":1}')).toMatchObject({ ok: false });
    expect(await format.read('{"city":5}')).toMatchObject({
      ok: false,
      problems: expect.stringContaining('city') as string,
    });
    expect(await format.read('Rome')).toMatchObject({ ok: false, problems: expect.stringContaining('JSON') as string });
    expect(await format.read('{"__proto__":{"city":"Rome"}}')).toMatchObject({ ok: false });
  });

  it('S2.1 the error of an invalid schema quotes at most the beginning of a long text', () => {
    const error = (() => {
      try {
        return outputFormat({ type: 'x'.repeat(100_000) });
      } catch (reason) {
        return reason;
      }
    })();
    expect((error as Error).message).toMatch(/^The output schema is invalid: .{1,300}\.$/);
  });

  it('S2.1 follows references within the schema', async () => {
    const list = { type: 'object', properties: { next: { $ref: '#/$defs/list' } }, additionalProperties: false };
    const format = outputFormat({ $ref: '#/$defs/list', $defs: { list } });
    expect(await format.read('{"next":{"next":{}}}')).toMatchObject({ ok: true });
    expect(await format.read('{"next":{"next":5}}')).toMatchObject({ ok: false });
  });

  it.each([
    ['a pattern', { type: 'string', pattern: '^(a+)+$' }, 'pattern'],
    ['a reference to another document', { $ref: 'https://example.com/schema' }, '$ref'],
    ['a schema that is nested too deep', nested(40), 'nested'],
    ['a schema that is too large', { enum: Array.from({ length: 6_000 }, (_, at) => at) }, 'values'],
    ['an unknown type', { type: 'nothing' }, 'nothing'],
  ])('S2.1 rejects %s', (_name, schema, text) => {
    expect(() => outputFormat(schema)).toThrow(text);
    expect(() => outputFormat(schema)).toThrow(expect.objectContaining({ code: 'AGENT_SETTINGS_INVALID' }));
  });

  it('S2.1 allows a property that is named like an unsupported keyword', async () => {
    const format = outputFormat({ type: 'object', properties: { pattern: { type: 'string' } } });
    expect(await format.read('{"pattern":"x"}')).toMatchObject({ ok: true });
  });
});

function nested(depth: number): Record<string, unknown> {
  return depth === 0 ? { type: 'string' } : { type: 'array', items: nested(depth - 1) };
}
