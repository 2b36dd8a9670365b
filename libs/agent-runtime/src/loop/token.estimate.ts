import type { ModelMessage, ToolDeclaration } from '#rollcall/providers';

type MessagePart = Exclude<ModelMessage, { role: 'system' }>['content'][number];

/** With all known tokenizers, almost all texts have more bytes per token than this, so the estimate is an upper bound for them. */
const BYTES_PER_TOKEN = 3;
/** The tokens that mark the start and the end of a message or a part, and its role or type. */
const FRAME_TOKENS = 8;
/** No image costs more, because vendors scale large images down. */
const IMAGE_TOKENS = 2_000;
const BASE64_BYTES = 0.75;

/** Estimates the input tokens of messages. The estimate may be too high, but is rarely too low. */
export function estimateMessages(messages: readonly ModelMessage[], from = 0): number {
  let tokens = 0;
  for (let index = from; index < messages.length; index += 1) {
    const message = messages[index];
    if (message) tokens += FRAME_TOKENS + tokensOfMessage(message);
  }
  return tokens;
}

const TOOL_TOKENS = new WeakMap<object, number>();

/** Agents send the same declarations with each call, so the estimate is cached. */
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

/** Estimates the tokens of the parts of one message. */
export function estimateParts(parts: readonly MessagePart[]): number {
  let tokens = 0;
  for (const part of parts) tokens += FRAME_TOKENS + tokensOfPart(part);
  return tokens;
}

function tokensOfMessage(message: ModelMessage): number {
  return message.role === 'system' ? estimateText(message.text) : estimateParts(message.content);
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
