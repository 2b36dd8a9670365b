import 'reflect-metadata';
import { Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import type { ToolInput } from './input/tool.input.js';
import { ToolInvalidError } from './tool.errors.js';
import { defineTool, type Tool, TOOL, type ToolBox, toolBox, type ToolContext, type ToolOptions } from './tool.js';

type ProviderWrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** Finds the providers with `@Tool` methods and makes a toolbox of each of them. */
@Injectable()
export class ToolExplorer {
  constructor(private readonly discovery: DiscoveryService) {}

  explore(): ToolBox[] {
    const providers = this.discovery.getProviders().filter(hasTools);
    for (const provider of providers) checkScope(provider);
    // A provider with several injection tokens has one instance.
    return [...new Set(providers.map(({ instance }) => instance as object))].map(toolBoxOf);
  }
}

function hasTools({ instance, metatype }: ProviderWrapper): boolean {
  const value: unknown = instance ?? metatype?.prototype;
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype !== null && toolMethodsOf(prototype).length > 0;
}

function checkScope(provider: ProviderWrapper): void {
  if (provider.isDependencyTreeStatic()) return;
  throw new ToolInvalidError(
    `${provider.name} has @Tool methods and is created for each request. Only providers with the default scope can have tools.`,
  );
}

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
function toolMethodsOf(prototype: object): string[] {
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

/** The compiler records the classes of the parameters of a decorated method. An interface is recorded as `Object`. */
function inputOf(provider: object, method: string): ToolInput | undefined {
  const [first] = (Reflect.getMetadata('design:paramtypes', provider, method) ?? []) as unknown[];
  if (first === undefined) return undefined;
  if (first !== Object) return first as ToolInput;
  throw new ToolInvalidError(
    `The tool ${provider.constructor.name}.${method} has an input of an unknown type. Use a class, or name a schema in @Tool({ input }).`,
  );
}
