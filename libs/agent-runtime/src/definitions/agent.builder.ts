import { Injectable } from '@nestjs/common';
import { type Agent, AgentProviderRegistry } from '#rollcall/providers';
import type { DefinitionContent } from './definition.js';

/** Builds agents from definitions with the provider that the definition names. Errors of the provider pass through unchanged. */
@Injectable()
export class AgentBuilder {
  constructor(private readonly providers: AgentProviderRegistry) {}

  async build(name: string, content: DefinitionContent): Promise<Agent> {
    const provider = this.providers.get(content.provider);
    return await provider.createAgent({ name, settings: settingsOf(content) });
  }
}

/** Only agents that Rollcall runs itself use the whole content. Other providers have settings of their own. */
function settingsOf(content: DefinitionContent): Record<string, unknown> {
  if (content.provider !== 'native') return content.settings ?? {};
  const { description, instructions, model, tools, disallowedTools, skills, outputSchema, budget } = content;
  const { maxIterations, maxDelegationDepth } = content;
  return {
    description,
    instructions,
    model,
    tools: { ...(tools && { allow: tools }), ...(disallowedTools && { deny: disallowedTools }) },
    skills,
    maxIterations,
    maxDelegationDepth,
    outputSchema,
    limit: budget,
  };
}
