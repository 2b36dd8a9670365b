import type { AssistantPart, ModelMessage, TextPart, FilePart, ToolResultPart } from '#rollcall/providers';

const CHARACTERS_PER_TOKEN = 4;
/** Vendors count images and documents by their size in pixels or pages, which is unknown here. */
const TOKENS_PER_FILE = 1_500;

type Part = TextPart | FilePart | AssistantPart | ToolResultPart;

/** Estimates the tokens of messages from the length of their texts. */
export function estimateTokens(messages: readonly ModelMessage[]): number {
  let tokens = 0;
  for (const message of messages)
    tokens += message.role === 'system' ? tokensOfText(message.text) : tokensOfParts(message.content);
  return tokens;
}

export function tokensOfParts(parts: readonly Part[]): number {
  let tokens = 0;
  for (const part of parts) tokens += tokensOfPart(part);
  return tokens;
}

function tokensOfPart(part: Part): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return tokensOfText(part.text);
    case 'tool-call':
      return tokensOfText(part.malformed ?? JSON.stringify(part.input) ?? '');
    case 'tool-result':
      return tokensOfText(part.output);
    case 'file':
      return TOKENS_PER_FILE;
  }
}

function tokensOfText(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN);
}
