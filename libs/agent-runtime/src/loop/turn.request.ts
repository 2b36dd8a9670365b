import { type ModelRequest, type ToolDeclaration, userMessage } from '#rollcall/providers';
import type { ToolSet } from '../tools/tool.set.js';
import type { LoopParts } from './loop.parts.js';
import type { RunState } from './run.state.js';

const FINAL_NOTICE =
  'Your budget is used up, and you cannot call tools any more. Give your final answer now, from what you know. State what is missing.';

/** The request of a turn: the system prompt, the conversation and the tools. */
export function turnRequest({ messages }: RunState, { declarations }: ToolSet, parts: LoopParts): ModelRequest {
  const { systemPrompt, options } = parts;
  const request: ModelRequest = {
    messages: systemPrompt === '' ? [...messages] : [{ role: 'system', text: systemPrompt }, ...messages],
  };
  if (declarations.length > 0) request.tools = declarations as ToolDeclaration[]; // not a copy, because estimates are cached by it
  if (options.settings) request.settings = options.settings;
  if (options.output) request.output = { schema: options.output.schema };
  return request;
}

/**
 * The request of the last call of a run that reached its budget. The tools stay declared, because vendors reject a conversation with
 * calls of tools that are not declared, but the model may not call them.
 */
export function finalRequest(state: RunState, tools: ToolSet, parts: LoopParts): ModelRequest {
  const request = turnRequest(state, tools, parts);
  request.messages.push(userMessage(FINAL_NOTICE));
  if (request.tools) request.toolChoice = 'none';
  return request;
}
