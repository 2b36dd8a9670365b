import type { ParsedInput } from '../tool.js';

/** Describes the input of a tool to a model, and checks what the model sends. */
export interface InputReader {
  readonly inputSchema: Readonly<Record<string, unknown>>;
  parse(input: unknown): ParsedInput | Promise<ParsedInput>;
}

/** A class whose properties have decorators of class-validator. */
export type DtoClass<Dto extends object = object> = new () => Dto;
