import { plainToInstance } from 'class-transformer';
import { validate, type ValidationError } from 'class-validator';
import type { ParsedInput } from '../tool.js';
import { dtoSchema } from './dto.schema.js';
import { joinProblems } from './input.problems.js';
import type { DtoClass, InputReader } from './input.reader.js';

const RULES = { whitelist: true, forbidNonWhitelisted: true, forbidUnknownValues: true };

/** Reads inputs with a class that has decorators of class-validator. Unknown fields are rejected. */
export function dtoInput(dto: DtoClass): InputReader {
  return { inputSchema: dtoSchema(dto), parse: async (input) => await parse(dto, input) };
}

async function parse(dto: DtoClass, input: unknown): Promise<ParsedInput> {
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    return { ok: false, problems: 'expected an object' };
  const value = plainToInstance(dto, input);
  const errors = await validate(value, RULES);
  return errors.length === 0 ? { ok: true, value } : { ok: false, problems: joinProblems(problemsIn(errors, '')) };
}

function problemsIn(errors: readonly ValidationError[], prefix: string): { path: string; message: string }[] {
  return errors.flatMap(({ property, constraints = {}, children = [] }) => {
    const path = prefix === '' ? property : `${prefix}.${property}`;
    const own = Object.values(constraints).map((message) => ({ path, message }));
    return [...own, ...problemsIn(children, path)];
  });
}
