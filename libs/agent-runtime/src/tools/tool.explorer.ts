import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { toolBoxOf, toolMethodsOf } from './decorated.toolbox.js';
import { ToolInvalidError } from './tool.errors.js';
import type { ToolBox } from './tool.js';

type ProviderWrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** Finds the providers with `@Tool` methods and makes a toolbox of each of them. */
@Injectable()
export class ToolExplorer {
  constructor(private readonly discovery: DiscoveryService) {}

  explore(): ToolBox[] {
    const providers = this.discovery.getProviders().filter(hasTools);
    for (const provider of providers) checkScope(provider);
    // A provider with several tokens has one instance.
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
