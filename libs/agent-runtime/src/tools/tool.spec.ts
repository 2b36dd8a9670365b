import { createHash } from 'node:crypto';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsEnum,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  IsUUID,
  Matches,
  Max,
  MaxLength,
  Min,
  MinLength,
  ValidateIf,
  ValidateNested,
} from 'class-validator';
import { z } from 'zod';
import { TestCalls } from '../testing/tool-calls.js';
import type { ToolInput } from './input/tool.input.js';
import { inputHashOf } from './input.hash.js';
import { Describe } from './input/dto.input.js';
import { defineTool } from './tool.js';

class Line {
  @IsString() @MaxLength(10) product: string;
  @IsInt() @Min(1) @Max(9) count: number;
}

class Order {
  @Describe('Who orders.') @IsString() @MinLength(2) customer: string;
  @IsOptional() @IsIn(['low', 'high']) priority?: string;
  @ValidateNested({ each: true }) @Type(() => Line) @ArrayMaxSize(3) lines: Line[];
  @IsOptional() @ValidateNested() @Type(() => Line) gift?: Line;
  @IsOptional() @IsString({ each: true }) @Matches(/^[a-z]+$/, { each: true }) tags?: string[];
}

const orderTool = defineTool({
  name: 'order',
  description: 'Orders.',
  input: Order,
  execute: (order) => `${order.constructor.name} of ${order.lines.map((line) => line.constructor.name).join()}`,
});

function inputOf(input: ToolInput): Record<string, unknown> {
  return defineTool({ name: 'one', description: 'One.', input, execute: () => undefined }).inputSchema;
}

describe('a tool with a zod schema', () => {
  const input = z.strictObject({ city: z.string().describe('In English.'), days: z.int().max(7).default(1) });
  const forecast = defineTool({
    name: 'forecast',
    description: 'Forecasts.',
    input,
    execute: ({ city, days }) => `${city}:${days.toFixed()}`,
  });

  it('S2.2 describes its input as JSON Schema', () => {
    expect(forecast.inputSchema).toMatchObject({
      type: 'object',
      properties: { city: { type: 'string', description: 'In English.' }, days: { type: 'integer', maximum: 7 } },
      required: ['city'],
      additionalProperties: false,
    });
    expect(forecast.inputSchema).not.toHaveProperty('$schema');
  });

  it('S2.2 receives the input with defaults', async () => {
    expect(await new TestCalls([forecast]).call('forecast', { city: 'Rome' })).toEqual({
      output: 'Rome:1',
      failed: false,
    });
  });

  it('S2.2 lists all problems of an input', async () => {
    const { output } = await new TestCalls([forecast]).call('forecast', { days: 9, extra: 1 });
    expect(output).toMatch(/city: .*; days: .*; .*"extra"/);
  });

  it('S2.2 waits for asynchronous rules', async () => {
    const unique = z.object({ name: z.string().refine(async (name) => name !== 'taken', 'is taken') });
    const create = defineTool({ name: 'create', description: 'Creates.', input: unique, execute: ({ name }) => name });
    const calls = new TestCalls([create]);
    expect((await calls.call('create', { name: 'taken' })).output).toContain('name: is taken');
    expect((await calls.call('create', { name: 'free' })).output).toBe('free');
  });

  it.each([
    ['a schema that is not an object', z.string(), 'must describe an object'],
    ['a type that JSON does not have', z.object({ at: z.date() }), 'Date'],
  ])('S2.2 cannot have %s', (_name, schema, reason) => {
    expect(() => inputOf(schema)).toThrow(reason);
    expect(() => inputOf(schema)).toThrow(expect.objectContaining({ code: 'TOOL_INVALID' }) as Error);
  });

  it('S2.2 cannot use a library that offers no JSON Schema', () => {
    const validate = (value: unknown) => ({ value });
    expect(() => inputOf({ '~standard': { version: 1, vendor: 'other', validate } })).toThrow(
      'the schema library other offers no JSON Schema',
    );
  });
});

describe('a tool with a class of class-validator', () => {
  it('S2.2 describes its input as JSON Schema', () => {
    const line = {
      type: 'object',
      properties: {
        product: { type: 'string', maxLength: 10 },
        count: { type: 'integer', minimum: 1, maximum: 9 },
      },
      required: ['product', 'count'],
      additionalProperties: false,
    };
    expect(orderTool.inputSchema).toEqual({
      type: 'object',
      properties: {
        customer: { type: 'string', minLength: 2, description: 'Who orders.' },
        priority: { enum: ['low', 'high'] },
        lines: { type: 'array', maxItems: 3, items: line },
        gift: line,
        tags: { type: 'array', items: { type: 'string', pattern: '^[a-z]+$' } },
      },
      required: ['customer', 'lines'],
      additionalProperties: false,
    });
  });

  it('S2.2 receives instances of the classes', async () => {
    const input = { customer: 'Ada', lines: [{ product: 'pen', count: 1 }] };
    expect(await new TestCalls([orderTool]).call('order', input)).toEqual({ output: 'Order of Line', failed: false });
  });

  it('S2.2 lists the problems of an input with their paths, and rejects unknown fields', async () => {
    const input = { customer: 'A', lines: [{ product: 'pen', count: 10 }], extra: 1 };
    const { output } = await new TestCalls([orderTool]).call('order', input);
    expect(output).toContain('customer: customer must be longer');
    expect(output).toContain('lines.0.count: count must not be greater than 9');
    expect(output).toContain('extra: property extra should not exist');
  });

  it.each([[null], [[]], ['text'], [5]])('S2.2 rejects the input %j', async (input) => {
    expect(await new TestCalls([orderTool]).call('order', input)).toMatchObject({ failed: true });
  });

  it('S2.2 explains a rule that JSON Schema cannot express', () => {
    class Conditional {
      @ValidateIf(() => true) @IsString() name: string;
    }
    expect(() => inputOf(Conditional)).toThrow('Conditional.name has a rule without an equivalent in JSON Schema');
  });

  it('S2.2 explains what is missing for a nested class, a class without rules and a class that contains itself', () => {
    class Untyped {
      @ValidateNested() line: object;
    }
    class Empty {}
    class Tree {
      @IsOptional() @ValidateNested() @Type(() => Tree) child?: object;
    }
    class Flagged {
      @Matches(/x/i) name: string;
    }
    expect(() => inputOf(Untyped)).toThrow('Untyped.line is nested and needs @Type');
    expect(() => inputOf(Empty)).toThrow('Empty has no properties with decorators');
    expect(() => inputOf(Tree)).toThrow('Tree contains itself');
    expect(() => inputOf(Flagged)).toThrow('has flags');
  });

  it('S2.2 supports inherited rules and enums', () => {
    enum Color {
      Red = 'red',
      Blue = 'blue',
    }
    class Base {
      @IsUUID() id: string;
    }
    class Paint extends Base {
      @IsEnum(Color) color: Color;
    }
    expect(inputOf(Paint)).toMatchObject({
      properties: { id: { type: 'string', format: 'uuid' }, color: { enum: ['red', 'blue'] } },
    });
  });
});

describe('a tool definition', () => {
  it('S2.2 can have a JSON Schema with a function that checks inputs', async () => {
    const jsonSchema = { type: 'object', properties: { n: { type: 'number' } } };
    const parse = (value: unknown) => {
      const { n } = value as { n?: unknown };
      return typeof n === 'number'
        ? ({ ok: true, value: n } as const)
        : ({ ok: false, problems: 'n: no number' } as const);
    };
    const double = defineTool({
      name: 'double',
      description: 'Doubles.',
      input: { jsonSchema, parse },
      execute: (n) => Number(n) * 2,
    });
    const calls = new TestCalls([double]);
    expect(double.inputSchema).toEqual(jsonSchema);
    expect((await calls.call('double', { n: 4 })).output).toBe('8');
    expect((await calls.call('double', {})).output).toContain('n: no number');
  });

  it('S2.2 accepts an empty object or null if the tool has no input', async () => {
    const ping = defineTool({ name: 'ping', description: 'Pings.', execute: (input) => input });
    expect((await new TestCalls([ping]).call('ping', {})).output).toBe('{}');
    expect((await new TestCalls([ping]).call('ping', null)).output).toBe('{}');
  });

  it('S2.2 is not idempotent and needs no approval by default', () => {
    expect(orderTool).toMatchObject({ idempotent: false, needsApproval: false });
    expect(orderTool).not.toHaveProperty('timeoutMs');
  });

  it.each([
    ['an empty description', { description: ' ' }],
    ['a time limit of 0', { timeoutMs: 0 }],
    ['a time limit that is too long for a timer', { timeoutMs: 2 ** 31 }],
  ])('S2.2 is rejected with %s', (_name, wrong) => {
    const definition = { name: 'one', description: 'One.', execute: () => undefined, ...wrong };
    expect(() => defineTool(definition)).toThrow(expect.objectContaining({ code: 'TOOL_INVALID' }) as Error);
  });
});

describe('the hash of an input', () => {
  it('S2.2 is the same for equal JSON in any order of keys, and differs for any other input', () => {
    const hash = inputHashOf({ a: 1, b: [{ c: 'x', d: null }] });
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(inputHashOf({ b: [{ d: null, c: 'x' }], a: 1, e: undefined })).toBe(hash);
    const others = [
      { a: '1', b: [{ c: 'x', d: null }] },
      { a: 1 },
      [],
      {},
      null,
      '',
      0,
      false,
      '{}',
      { a: [1, 2] },
      { a: [2, 1] },
    ];
    const hashes = others.map(inputHashOf);
    expect(new Set([...hashes, hash]).size).toBe(others.length + 1);
  });

  it('S2.2 is the SHA-256 of canonical JSON, and exists for every value that JSON can express', () => {
    const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
    expect(inputHashOf({ b: 1, a: '\ud800' })).toBe(sha256('{"a":"\\ud800","b":1}'));
    expect(inputHashOf(JSON.parse('[1e999, 1e30]'))).toBe(sha256('[null,1e+30]'));
    expect(inputHashOf(undefined)).toBe(sha256('null'));
  });
});
