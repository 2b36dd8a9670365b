import { UntrustedSchema } from './untrusted.schema.js';

const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });

describe('a JSON Schema of a third party', () => {
  it('S2.2 checks inputs and lists their problems with their paths', () => {
    const schema = UntrustedSchema.compile(
      object(
        { title: { type: 'string', maxLength: 5 }, level: { enum: ['low', 'high'] }, who: { $ref: '#/$defs/who' } },
        { required: ['title'], additionalProperties: false, $defs: { who: object({ name: { type: 'string' } }) } },
      ),
    );
    expect(schema.parse({ title: 'a' })).toEqual({ ok: true, value: { title: 'a' } });
    expect(schema.parse({ title: 'a', who: { name: 5 } })).toEqual({ ok: false, problems: 'who.name: must be string' });
    expect(schema.parse({ title: 'a', level: 'x' })).toMatchObject({
      problems: 'level: must be equal to one of the allowed values (["low","high"])',
    });
    expect(schema.parse({ title: 'a', more: 1 })).toMatchObject({
      problems: expect.stringContaining('("more")') as string,
    });
  });

  it.each(['http://json-schema.org/draft-07/schema#', 'https://json-schema.org/draft/2020-12/schema', 'urn:unknown'])(
    'S2.2 may be written in the dialect %s',
    (dialect) => {
      const schema = UntrustedSchema.compile({ $schema: dialect, ...object({ a: { type: 'integer' } }) });
      expect(schema.parse({ a: 1.5 })).toMatchObject({ ok: false });
    },
  );

  it('S2.2 is checked in linear time, even if its pattern is slow for other engines', () => {
    const schema = UntrustedSchema.compile(object({ a: { type: 'string', pattern: '^(a+)+$' } }));
    expect(schema.parse({ a: `${'a'.repeat(5_000)}!` })).toMatchObject({ ok: false });
    expect(schema.parse({ a: 'aaa' })).toMatchObject({ ok: true });
  });

  it('S2.2 may have several patterns', () => {
    const schema = UntrustedSchema.compile(object({ a: { pattern: '^a$' }, b: { pattern: '^b$' } }));
    expect(schema.parse({ a: 'a', b: 'b' })).toMatchObject({ ok: true });
    expect(schema.parse({ a: 'b', b: 'b' })).toMatchObject({ ok: false });
    expect(schema.parse({ a: 'a', b: 'a' })).toMatchObject({ ok: false });
  });

  it('S2.2 is stopped at a time limit if its references multiply the work', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 60 }, (_, n) => {
        const next = { $ref: `#/$defs/d${n + 1}` };
        return [`d${n}`, n === 59 ? { type: 'object' } : { allOf: [next, { ...next }] }];
      }),
    );
    const schema = UntrustedSchema.compile(object({}, { $defs, $ref: '#/$defs/d0' }));
    expect(schema.parse({})).toEqual({
      ok: false,
      problems: 'checking it against the schema of the tool takes too long',
    });
  });

  it.each([
    ['a type that is not object', { type: 'string' }, 'does not describe an object'],
    ['a reference to another document', object({ a: { $ref: 'https://evil.example/s' } }), 'another document'],
    ['a reference to a file', object({ a: { $ref: 'file:///etc/passwd' } }), 'another document'],
    ['asynchronous keywords', object({ a: { $async: true } }), 'asynchronous'],
    ['an asynchronous root', object({}, { $async: true }), 'asynchronous'],
    ['a reference to nothing', object({ a: { $ref: '#/$defs/none' } }), "can't resolve reference"],
    ['40 levels', deep(40), 'nested deeper than 32 levels'],
    ['600 subschemas', wide(600), 'more than 500 subschemas'],
    ['a pattern with a backreference', object({ a: { pattern: '(a)\\1' } }), ''],
    ['a keyword of a wrong type', object({ a: { maxLength: 'many' } }), 'maxLength'],
  ])('S2.2 is rejected if it has %s', (_name, schema, reason) => {
    expect(() => UntrustedSchema.compile(schema as Record<string, unknown>)).toThrow(reason);
  });

  it('S2.2 cannot refer to the data that it checks', () => {
    const schema = UntrustedSchema.compile(object({ a: { type: 'integer' }, b: { type: 'object' } }));
    expect(schema.parse({ a: 1, b: { $data: '1/a' } })).toMatchObject({ ok: true });
    expect(() => UntrustedSchema.compile(object({ a: { maximum: { $data: '1/b' } } }))).toThrow('maximum');
  });
});

function deep(levels: number): object {
  let schema: object = { type: 'string' };
  for (let level = 0; level < levels; level += 1) schema = { type: 'array', items: schema };
  return object({ a: schema });
}

function wide(count: number): object {
  return object(Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, { type: 'string' }])));
}
