import { HOSTILE_SCHEMAS } from '../testing/hostile.schemas.js';
import type { ParsedInput } from '../tools/input/input.reader.js';
import { UntrustedSchema } from './untrusted.schema.js';

const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });

async function compiled(schema: object, checksFormats = false): Promise<UntrustedSchema> {
  const owner = { what: 'the answer', group: 'test', checksFormats };
  const untrusted = UntrustedSchema.of(schema as Record<string, unknown>, owner);
  await untrusted.compile();
  return untrusted;
}

/** A blocked event loop runs no timers. The result contains how many have run while the work was in progress. */
async function withTicks<Result>(work: () => Promise<Result>): Promise<{ result: Result; ticks: number }> {
  let ticks = 0;
  const timer = setInterval(() => (ticks += 1), 10);
  try {
    return { result: await work(), ticks };
  } finally {
    clearInterval(timer);
  }
}

describe('a JSON Schema of a third party', () => {
  it('S2.2 checks inputs and lists their problems with their paths', async () => {
    const schema = await compiled(
      object(
        { title: { type: 'string', maxLength: 5 }, level: { enum: ['low', 'high'] }, who: { $ref: '#/$defs/who' } },
        { required: ['title'], additionalProperties: false, $defs: { who: object({ name: { type: 'string' } }) } },
      ),
    );
    expect(await schema.parse({ title: 'a' })).toEqual({ ok: true, value: { title: 'a' } });
    expect(await schema.parse({ title: 'a', who: { name: 5 } })).toEqual({
      ok: false,
      problems: 'who.name: must be string',
    });
    expect(await schema.parse({ title: 'a', level: 'x' })).toMatchObject({
      problems: 'level: must be equal to one of the allowed values (["low","high"])',
    });
    expect(await schema.parse({ title: 'a', more: 1 })).toMatchObject({
      problems: expect.stringContaining('("more")') as string,
    });
  });

  it.each(['http://json-schema.org/draft-07/schema#', 'https://json-schema.org/draft/2020-12/schema', 'urn:unknown'])(
    'S2.2 may be written in the dialect %s',
    async (dialect) => {
      const schema = await compiled({ $schema: dialect, ...object({ a: { type: 'integer' } }) });
      expect(await schema.parse({ a: 1.5 })).toMatchObject({ ok: false });
    },
  );

  it('S2.2 is checked in linear time, even if its pattern is slow for other engines', async () => {
    const schema = await compiled(object({ a: { type: 'string', pattern: '^(a+)+$' } }));
    expect(await schema.parse({ a: `${'a'.repeat(5_000)}!` })).toMatchObject({ ok: false });
    expect(await schema.parse({ a: 'aaa' })).toMatchObject({ ok: true });
  });

  it('S2.2 may have several patterns', async () => {
    const schema = await compiled(object({ a: { pattern: '^a$' }, b: { pattern: '^b$' } }));
    expect(await schema.parse({ a: 'a', b: 'b' })).toMatchObject({ ok: true });
    expect(await schema.parse({ a: 'b', b: 'b' })).toMatchObject({ ok: false });
    expect(await schema.parse({ a: 'a', b: 'a' })).toMatchObject({ ok: false });
  });

  it.each([
    ['date', '2026-11-17', '2026-17-11'],
    ['date-time', '2026-11-17T10:00:00+01:00', '2026-11-17'],
    ['time', '10:00:00', '25:00:00'],
    ['duration', 'P1D', '1 day'],
    ['email', 'ann@example.com', 'ann'],
    ['uuid', '0f8fad5b-d9cb-469f-a165-70867728950e', '0f8fad5b'],
    ['uri', 'https://example.com/a', 'example'],
    ['ipv4', '192.0.2.1', '192.0.2'],
    ['ipv6', '2001:db8::1', '2001:db8'],
    ['unknown', 'anything', undefined],
  ])('S2.1 the format %s is checked on request', async (format, right, wrong) => {
    const schema = { type: 'string', format };
    expect(await (await compiled(schema, true)).parse(right)).toMatchObject({ ok: true });
    if (wrong === undefined) return;
    expect(await (await compiled(schema, true)).parse(wrong)).toMatchObject({ ok: false });
    expect(await (await compiled(schema, false)).parse(wrong)).toMatchObject({ ok: true });
  });

  it.each([
    ['a reference to a file', object({ a: { $ref: 'file:///etc/passwd' } }), 'another document'],
    ['asynchronous keywords', object({ a: { $async: true } }), 'asynchronous'],
    ['a reference to nothing', object({ a: { $ref: '#/$defs/none' } }), "can't resolve reference"],
    ['40 levels', deep(40), 'nested deeper than 32 levels'],
    ['600 subschemas', wide(600), 'more than 500 subschemas'],
    ['a keyword of a wrong type', object({ a: { maxLength: 'many' } }), 'maxLength'],
  ])('S2.2 is rejected if it has %s', async (_name, schema, reason) => {
    await expect(compiled(schema)).rejects.toThrow(reason);
    await expect(compiled(schema)).rejects.toMatchObject({ name: 'UntrustedSchemaError' });
  });

  it('S-2 is accepted if its references expand to few subschemas, and may be recursive', async () => {
    const tree = object({ left: { $ref: '#' }, right: { $ref: '#' }, value: { type: 'integer' } });
    const schema = await compiled(tree);
    expect(await schema.parse({ left: { left: {}, right: { value: 1 } } })).toMatchObject({ ok: true });
    expect(await schema.parse({ left: { left: {}, right: { value: 'x' } } })).toMatchObject({ ok: false });
    const address = object({ street: { type: 'string' } });
    const pair = object({ from: { $ref: '#/$defs/a~1b' }, to: { $ref: '#there' } });
    const named = { ...pair, $defs: { 'a/b': address, there: { $anchor: 'there', ...address } } };
    expect(await (await compiled(named)).parse({ from: {}, to: { street: 5 } })).toMatchObject({ ok: false });
  });

  it('S2.2 cannot refer to the data that it checks', async () => {
    const schema = await compiled(object({ a: { type: 'integer' }, b: { type: 'object' } }));
    expect(await schema.parse({ a: 1, b: { $data: '1/a' } })).toMatchObject({ ok: true });
    await expect(compiled(object({ a: { maximum: { $data: '1/b' } } }))).rejects.toThrow('maximum');
  });

  it('S-2 values that are too deep or too large are rejected before they are checked', async () => {
    const schema = await compiled({});
    expect(await schema.parse(deep(70))).toMatchObject({
      ok: false,
      problems: expect.stringContaining('64') as string,
    });
    expect(await schema.parse('x'.repeat(2 << 20))).toMatchObject({ ok: false });
  });
});

describe('hostile schemas', () => {
  it.each(HOSTILE_SCHEMAS.map((one) => [one.name, one] as const))(
    'S-2 %s cannot block the event loop',
    async (_name, { schema, value, isRejected }) => {
      const started = performance.now();
      const { result, ticks } = await withTicks(async (): Promise<ParsedInput | Error> => {
        try {
          return await (await compiled(schema)).parse(value);
        } catch (error) {
          return error as Error;
        }
      });
      if (isRejected) return expect(result).toMatchObject({ name: 'UntrustedSchemaError' });
      if (result instanceof Error) expect(result).toMatchObject({ code: 'SCHEMA_CHECK_TIMED_OUT' });
      else expect(typeof result.ok).toBe('boolean');
      const blocked = performance.now() - started > 900 && ticks < 5;
      expect(blocked).toBe(false);
    },
  );

  it('S-2 some of them reach their budget, and the next check of another group succeeds', async () => {
    const expensive = HOSTILE_SCHEMAS.find(({ name }) => name === 'recursion that branches below anyOf')!;
    const schema = await compiled(expensive.schema);
    const error = { code: 'SCHEMA_CHECK_TIMED_OUT', message: expect.stringContaining('the answer') as string };
    const both = [schema.parse(expensive.value), schema.parse(expensive.value)];
    const rest = UntrustedSchema.of({ type: 'string' }, { what: 'x', group: 'other' });
    const order: string[] = [];
    const others = [...both, rest.parse('x')].map(async (work, index) => {
      await work.catch(() => undefined);
      order.push(index === 2 ? 'cheap' : 'expensive');
    });
    for (const one of both) await expect(one).rejects.toMatchObject(error);
    await Promise.all(others);
    expect(order).not.toEqual(['expensive', 'expensive', 'cheap']); // the group with expensive checks has only one thread
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
