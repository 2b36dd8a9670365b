import 'reflect-metadata';
import { MetadataScanner } from '@nestjs/core';
import { defineTool } from './define.tool.js';
import type { ToolInput } from './input/tool.input.js';
import { toolBox } from './tool.box.js';
import { TOOL, type ToolOptions } from './tool.decorator.js';
import { ToolInvalidError } from './tool.errors.js';
import type { Tool, ToolBox, ToolContext } from './tool.js';

type Method = (input: unknown, context: ToolContext) => unknown;

const scanner = new MetadataScanner();

/** The toolbox of an object with `@Tool` methods. `WeatherTools` becomes `weather-tools`. */
export function toolBoxOf(provider: object): ToolBox {
  const name = provider.constructor.name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '-').toLowerCase();
  const methods = toolMethodsOf(Object.getPrototypeOf(provider) as object);
  return toolBox(
    name,
    methods.map((method) => toTool(provider, method)),
  );
}

/** The names of the methods that have `@Tool`. */
export function toolMethodsOf(prototype: object): string[] {
  return scanner.getAllMethodNames(prototype).filter((name) => optionsOf(prototype, name) !== undefined);
}

function optionsOf(prototype: object, name: string): ToolOptions | undefined {
  const method = (prototype as Record<string, object>)[name];
  return method && (Reflect.getMetadata(TOOL, method) as ToolOptions | undefined);
}

function toTool(provider: object, method: string): Tool {
  const options = optionsOf(provider, method)!;
  const input = options.input ?? inputOf(provider, method);
  const execute: Method = (value, context) => (provider as Record<string, Method>)[method](value, context);
  return defineTool({ ...options, name: options.name ?? method, input, execute });
}

/** The compiler records the classes of the parameters of a decorated method. It records an interface as Object. */
function inputOf(provider: object, method: string): ToolInput | undefined {
  const [first] = (Reflect.getMetadata('design:paramtypes', provider, method) ?? []) as unknown[];
  if (first === undefined) return undefined;
  if (first !== Object) return first as ToolInput;
  throw new ToolInvalidError(
    `The tool ${provider.constructor.name}.${method} has an input of an unknown type. Use a class, or name a schema in @Tool({ input }).`,
  );
}
