import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4Message,
  LanguageModelV4ToolChoice,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider';
import type { AssistantPart, FilePart, ModelMessage, TextPart, ToolCallPart, VendorData } from '../message.js';
import type { FinishReason, ModelReply, ModelRequest, ModelUsage, ToolChoice } from '../model.provider.js';

/** Converts between the types of Rollcall and the types of the AI SDK. */

type PromptOf<Role extends LanguageModelV4Message['role']> = Extract<LanguageModelV4Message, { role: Role }>;

export function toCallOptions(request: ModelRequest): LanguageModelV4CallOptions {
  const { effort, ...settings } = request.settings ?? {};
  return {
    ...settings,
    prompt: request.messages.map(toPrompt),
    tools: request.tools?.map((tool) => ({ type: 'function', ...tool })),
    toolChoice: request.toolChoice && toToolChoice(request.toolChoice),
    responseFormat: request.output && { type: 'json', ...request.output },
    reasoning: effort,
  };
}

function toPrompt(message: ModelMessage): LanguageModelV4Message {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.text };
    case 'user':
      return { role: 'user', content: message.content.map(toUserPart) };
    case 'assistant':
      return { role: 'assistant', content: message.content.map(toAssistantPrompt) };
    case 'tool':
      return { role: 'tool', content: message.content.map(toToolResult) };
  }
}

function toUserPart(part: TextPart | FilePart): PromptOf<'user'>['content'][number] {
  if (part.type === 'text') return { type: 'text', text: part.text };
  const { mediaType, filename, data } = part;
  return { type: 'file', mediaType, filename, data: { type: 'data', data } };
}

function toAssistantPrompt(part: AssistantPart): PromptOf<'assistant'>['content'][number] {
  const providerOptions = part.vendorData as SharedV4ProviderMetadata | undefined;
  if (part.type !== 'tool-call') return { type: part.type, text: part.text, providerOptions };
  return { type: 'tool-call', toolCallId: part.id, toolName: part.name, input: part.input, providerOptions };
}

function toToolResult(
  part: Extract<ModelMessage, { role: 'tool' }>['content'][number],
): PromptOf<'tool'>['content'][number] {
  const output = { type: part.failed ? 'error-text' : 'text', value: part.output } as const;
  return { type: 'tool-result', toolCallId: part.id, toolName: part.name, output };
}

function toToolChoice(choice: ToolChoice): LanguageModelV4ToolChoice {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.tool };
}

export function toReply(result: LanguageModelV4GenerateResult): ModelReply {
  return {
    content: result.content.map(toAssistantPart).filter((part) => part !== undefined),
    finish: toFinish(result.finishReason),
    usage: toUsage(result.usage),
    ...identity(result.response),
  };
}

export function identity(response: { id?: string; modelId?: string } = {}): Pick<ModelReply, 'id' | 'model'> {
  const { id, modelId } = response;
  return { ...(id && { id }), ...(modelId && { model: modelId }) };
}

/** Returns undefined for parts that Rollcall does not use: sources, and tools that the vendor runs. */
function toAssistantPart(part: LanguageModelV4Content): AssistantPart | undefined {
  if (part.type === 'text' || part.type === 'reasoning')
    return { type: part.type, text: part.text, ...toVendorData(part.providerMetadata) };
  return part.type === 'tool-call' ? toToolCall(part) : undefined;
}

export function toToolCall(part: Extract<LanguageModelV4Content, { type: 'tool-call' }>): ToolCallPart {
  const call = { type: 'tool-call' as const, id: part.toolCallId, name: part.toolName };
  return { ...call, ...parseInput(part.input), ...toVendorData(part.providerMetadata) };
}

export function toVendorData(metadata: SharedV4ProviderMetadata | undefined): { vendorData?: VendorData } {
  const stated = Object.entries(metadata ?? {}).filter(([, values]) => Object.keys(values).length > 0);
  return stated.length > 0 ? { vendorData: Object.fromEntries(stated) } : {};
}

export function toFinish({ unified }: LanguageModelV4FinishReason): FinishReason {
  switch (unified) {
    case 'content-filter':
      return 'refusal';
    case 'stop':
    case 'length':
    case 'tool-calls':
      return unified;
    case 'error':
    case 'interrupted':
    case 'other':
      return 'other';
  }
}

/** Whether the vendor ended the answer before it was complete. Some SDKs then report an unknown reason. */
export function isIncomplete({ unified, raw }: LanguageModelV4FinishReason): boolean {
  return unified === 'error' || unified === 'interrupted' || (unified === 'other' && raw === undefined);
}

function parseInput(text: string): Pick<ToolCallPart, 'input' | 'malformed'> {
  if (text.trim() === '') return { input: {} };
  try {
    return { input: JSON.parse(text) };
  } catch {
    return { input: {}, malformed: text }; // the caller can report the mistake to the model
  }
}

/** The names of each count in the answers of vendors. */
const NAMES: Record<keyof ModelUsage, string[]> = {
  inputTokens: ['input_tokens', 'prompt_tokens', 'inputTokens', 'promptTokenCount'],
  outputTokens: ['output_tokens', 'completion_tokens', 'outputTokens', 'candidatesTokenCount'],
  cacheReadTokens: ['cache_read_input_tokens', 'cached_tokens', 'cacheReadInputTokens', 'cachedContentTokenCount'],
  cacheWriteTokens: ['cache_creation_input_tokens', 'cache_write_tokens', 'cacheWriteInputTokens'],
  reasoningTokens: ['reasoning_tokens', 'thinking_tokens', 'thoughtsTokenCount'],
};

/**
 * The AI SDK reports some missing counts as 0. A 0 is therefore only used if the raw answer of the vendor contains the
 * count.
 */
export function toUsage({ inputTokens, outputTokens, raw }: LanguageModelV4Usage): ModelUsage {
  const counts: Record<keyof ModelUsage, number | undefined> = {
    inputTokens: inputTokens.total,
    outputTokens: outputTokens.total,
    cacheReadTokens: inputTokens.cacheRead,
    cacheWriteTokens: inputTokens.cacheWrite,
    reasoningTokens: outputTokens.reasoning,
  };
  const usage: ModelUsage = {};
  for (const name of Object.keys(counts) as (keyof ModelUsage)[]) {
    const count = counts[name];
    if (isCount(count) && (count > 0 || contains(raw, NAMES[name]))) usage[name] = count;
  }
  return usage;
}

/** Some servers report fractions or negative numbers. These cannot be charged, so they are treated as unknown. */
function isCount(count: number | undefined): count is number {
  return Number.isSafeInteger(count) && (count ?? -1) >= 0;
}

function contains(raw: unknown, names: string[]): boolean {
  if (typeof raw !== 'object' || raw === null) return false;
  return Object.entries(raw).some(([key, value]) =>
    typeof value === 'number' ? names.includes(key) : contains(value, names),
  );
}
