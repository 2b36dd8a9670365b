import { SetMetadata } from '@nestjs/common';
import type { CodeDefinition } from './deployed.definition.js';

export const AGENT_DEFINITION = 'rollcall:agent-definition';

/** Registers a definition at the start of the application, if the class is a provider of one of its modules. */
export function AgentDefinition(definition: CodeDefinition): ClassDecorator {
  return SetMetadata(AGENT_DEFINITION, definition);
}
