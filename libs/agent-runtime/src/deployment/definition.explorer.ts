import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { AGENT_DEFINITION } from './agent-definition.decorator.js';
import type { CodeDefinition } from './deployed.definition.js';

type ProviderWrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** Finds the providers with `@AgentDefinition`. */
@Injectable()
export class DefinitionExplorer {
  constructor(private readonly discovery: DiscoveryService) {}

  explore(): CodeDefinition[] {
    // The same class can be provided with several injection tokens.
    const classes = new Set(this.discovery.getProviders().map(classOf));
    return [...classes].flatMap((one) => (one && definitionOf(one)) ?? []);
  }
}

function classOf({ instance, metatype }: ProviderWrapper): object | undefined {
  const { constructor } = (instance ?? {}) as object;
  return constructor === Object ? (metatype ?? undefined) : constructor;
}

/** A subclass does not inherit the definition, because otherwise the name would be registered twice. */
function definitionOf(target: object): CodeDefinition | undefined {
  return Reflect.getOwnMetadata(AGENT_DEFINITION, target) as CodeDefinition | undefined;
}
