import { Injectable, SetMetadata } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import type { CodeDefinition } from './deployment.options.js';

const AGENT_DEFINITION = 'rollcall:agent-definition';

/** Registers a definition at the start of the application, if the class is a provider of one of its modules. */
export function AgentDefinition(definition: CodeDefinition): ClassDecorator {
  return SetMetadata(AGENT_DEFINITION, definition);
}

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
function definitionOf(provider: object): CodeDefinition | undefined {
  return Reflect.getOwnMetadata(AGENT_DEFINITION, provider) as CodeDefinition | undefined;
}
