import 'reflect-metadata';
import { Injectable } from '@nestjs/common';
import { DecoratedMethods } from '#rollcall/platform';
import { defineTool } from './define.tool.js';
import type { ToolInput } from './input/tool.input.js';
import { toolBox } from './tool.box.js';
import { TOOL, type ToolOptions } from './tool.decorator.js';
import { ToolInvalidError } from './tool.errors.js';
import type { Tool, ToolBox } from './tool.js';

type ToolMethod = ReturnType<typeof DecoratedMethods.prototype.find<ToolOptions>>[number];

/** Finds the methods with `@Tool` and makes one toolbox of each provider that has some. */
@Injectable()
export class ToolExplorer {
  constructor(private readonly methods: DecoratedMethods) {}

  explore(): ToolBox[] {
    const byProvider = Map.groupBy(this.methods.find<ToolOptions>(TOOL), ({ instance }) => instance);
    return [...byProvider].map(([provider, methods]) => toolBox(boxName(provider), methods.map(toTool)));
  }
}

/** `WeatherTools` becomes `weather-tools`. */
function boxName(provider: object): string {
  return provider.constructor.name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '-').toLowerCase();
}

function toTool(method: ToolMethod): Tool {
  const { options, call } = method;
  const input = options.input ?? inputOf(method);
  return defineTool({ ...options, name: options.name ?? method.name, input, execute: call });
}

/** The compiler records the classes of the parameters of a decorated method. An interface is recorded as Object. */
function inputOf({ instance, name }: ToolMethod): ToolInput | undefined {
  const [first] = (Reflect.getMetadata('design:paramtypes', instance, name) ?? []) as unknown[];
  if (first === undefined) return undefined;
  if (first !== Object) return first as ToolInput;
  throw new ToolInvalidError(
    `The tool ${instance.constructor.name}.${name} has an input of an unknown type. Use a class, or name a schema in @Tool({ input }).`,
  );
}
