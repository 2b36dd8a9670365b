import { ASK_TOOL } from '../loop/caller.question.js';
import type { ToolFilter } from '../tools/tool.filter.js';
import type { DefinitionContent } from './definition.js';

/** The tools that an agent with this content may use. Only `mayAsk` decides whether it may ask its caller. */
export function toolFilterOf({ tools, disallowedTools, mayAsk }: DefinitionContent): ToolFilter {
  const allow = tools && mayAsk ? [...tools, ASK_TOOL] : tools;
  return { ...(allow && { allow }), ...(disallowedTools && { deny: disallowedTools }) };
}
