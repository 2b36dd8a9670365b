import type { ModelMessage, ToolDeclaration } from '#rollcall/providers';

type MessagePart = Exclude<ModelMessage, { role: 'system' }>['content'][number];

/** Texts have more bytes per token with all known tokenizers, so the estimate is an upper bound for almost all texts. */
const BYTES_PER_TOKEN = 3;
/** The tokens that mark the begin and the end of a message or a part, and its role or type. */
const FRAME_TOKENS = 8;
/** Vendors scale images down, so that none costs more. */
const IMAGE_TOKENS = 2_000;
const BASE64_BYTES = 0.75;

/** Estimates the input tokens of messages, rather too high than too low. */
export function estimateMessages(messages: readonly ModelMessage[], from = 0): number {
  let tokens = 0;
  for (let index = from; index < messages.length; index += 1) {
    const message = messages[index];
    if (message) tokens += FRAME_TOKENS + tokensOfMessage(message);
  }
  return tokens;
}

const TOOL_TOKENS = new WeakMap<object, number>();

/** Agents send the same declarations with each call, so the estimate is kept. */
export function estimateTools(tools: readonly ToolDeclaration[] | undefined): number {
  if (!tools) return 0;
  const known = TOOL_TOKENS.get(tools);
  if (known !== undefined) return known;
  const tokens = estimateText(JSON.stringify(tools));
  TOOL_TOKENS.set(tools, tokens);
  return tokens;
}

export function estimateText(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

function tokensOfMessage(message: ModelMessage): number {
  if (message.role === 'system') return estimateText(message.text);
  let tokens = 0;
  for (const part of message.content) tokens += FRAME_TOKENS + tokensOfPart(part);
  return tokens;
}

function tokensOfPart(part: MessagePart): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return estimateText(part.text) + (part.vendorData ? estimateText(JSON.stringify(part.vendorData)) : 0);
    case 'tool-call':
      return (
        estimateText(part.name) +
        estimateText(part.id) +
        estimateText(part.malformed ?? JSON.stringify(part.input) ?? '')
      );
    case 'tool-result':
      return estimateText(part.name) + estimateText(part.id) + estimateText(part.output);
    case 'file':
      return part.mediaType.startsWith('image/')
        ? IMAGE_TOKENS
        : Math.ceil((part.data.length * BASE64_BYTES) / BYTES_PER_TOKEN);
  }
}
