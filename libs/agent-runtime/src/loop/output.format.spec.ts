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
    ['a JSON Schema', outputFormat(CITY, 'default')],
    ['a zod schema', outputFormat(z.strictObject({ city: z.string() }), 'default')],
  ])('S2.1 checks answers with %s', async (_name, format) => {
    expect(format.schema).toMatchObject(CITY);
    await format.check();
    expect(await format.read('{"city":"Rome"}')).toEqual({ ok: true, value: { city: 'Rome' } });
    expect(await format.read('{"city":"Rome","x":1}')).toMatchObject({ ok: false });
    expect(await format.read('{"city":5}')).toMatchObject({
      ok: false,
      problems: expect.stringContaining('city') as string,
    });
    expect(await format.read('Rome')).toMatchObject({ ok: false, problems: expect.stringContaining('JSON') as string });
    expect(await format.read('{"__proto__":{"city":"Rome"}}')).toMatchObject({ ok: false });
  });

  it('S2.1 the error of an invalid schema quotes at most the beginning of a long text', async () => {
    const format = outputFormat({ type: 'string', $ref: `#/${'x'.repeat(10_000)}` }, 'default');
    const invalid = { code: 'AGENT_SETTINGS_INVALID', message: expect.stringMatching(LIMITED) as string };
    await expect(format.check()).rejects.toMatchObject(invalid);
    await expect(format.read('"x"')).rejects.toMatchObject(invalid);
  });

  it('S2.1 follows references within the schema', async () => {
    const list = { type: 'object', properties: { next: { $ref: '#/$defs/list' } }, additionalProperties: false };
    const format = outputFormat({ $ref: '#/$defs/list', $defs: { list } }, 'default');
    expect(await format.read('{"next":{"next":{}}}')).toMatchObject({ ok: true });
    expect(await format.read('{"next":{"next":5}}')).toMatchObject({ ok: false });
  });

  it('S2.1 checks formats and patterns', async () => {
    const day = outputFormat({ type: 'string', format: 'date', pattern: '^20' }, 'default');
    expect(await day.read('"2026-11-17"')).toMatchObject({ ok: true });
    expect(await day.read('"2026-17-11"')).toMatchObject({ ok: false });
    expect(await day.read('"1999-11-17"')).toMatchObject({ ok: false });
  });

  it.each([
    ['a pattern that is not regular', { type: 'string', pattern: String.raw`(a)\1` }, ''],
    ['a reference to another document', { $ref: 'https://example.com/schema' }, 'another document'],
    ['a schema that is nested too deep', nested(40), 'nested'],
    ['a schema that is too large', { enum: Array.from({ length: 6_000 }, (_, at) => at) }, 'values'],
    ['an unknown type', { type: 'nothing' }, 'type'],
  ])('S2.1 rejects %s', async (_name, schema, text) => {
    const checked = (async () => await outputFormat(schema, 'default').check())();
    await expect(checked).rejects.toThrow(text);
    await expect(checked).rejects.toMatchObject({ code: 'AGENT_SETTINGS_INVALID' });
  });
});

const LIMITED = /^The output schema is invalid: .{1,300}\.$/;

function nested(depth: number): Record<string, unknown> {
  return depth === 0 ? { type: 'string' } : { type: 'array', items: nested(depth - 1) };
}
