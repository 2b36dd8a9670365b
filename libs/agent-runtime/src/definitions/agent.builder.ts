import { Injectable } from '@nestjs/common';
import { type Agent, AgentProviderRegistry, type ModelProvider } from '#rollcall/providers';
import type { ToolFilter } from '../tools/tool.filter.js';
import { type DefinitionContent, NATIVE } from './definition.js';

interface BuildOptions {
  /** The namespace of the definition, and of runs whose caller specifies none. */
  readonly namespace: string;
  /** The model of the agent that delegates. An agent with the model `inherit` uses it (S4.7). */
  readonly parentModel?: ModelProvider;
}

/** Builds an agent from a definition, with the provider that the definition names. Errors of the provider are rethrown unchanged. */
@Injectable()
export class AgentBuilder {
  constructor(private readonly providers: AgentProviderRegistry) {}

  async build(name: string, content: DefinitionContent, options: BuildOptions): Promise<Agent> {
    const { namespace, parentModel } = options;
    const provider = this.providers.get(content.provider);
    const settings = settingsOf(content, namespace);
    return await provider.createAgent({ name, namespace, settings, ...(parentModel && { parentModel }) });
  }
}

/** Only agents that Rollcall runs itself use the whole content. Other providers have settings of their own. */
function settingsOf(content: DefinitionContent, namespace: string): Record<string, unknown> {
  if (content.provider !== NATIVE) return content.settings ?? {};
  const { description, instructions, model, skills, outputSchema, budget } = content;
  const { maxIterations, maxDelegationDepth, inheritTools, subagents, mayAsk } = content;
  return {
    description,
    instructions,
    model,
    tools: toolFilterOf(content),
    skills,
    maxIterations,
    maxDelegationDepth,
    inheritTools,
    subagents,
    mayAsk,
    namespace,
    outputSchema,
    limit: budget,
  };
}

/** Which of the toolboxes of the deployment an agent with this content may use. */
export function toolFilterOf({ tools, disallowedTools, approve }: DefinitionContent): ToolFilter {
  return {
    ...(tools && { allow: tools }),
    ...(disallowedTools && { deny: disallowedTools }),
    ...(approve && { approve }),
  };
}
