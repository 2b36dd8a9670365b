/** Opaque JSON of a vendor that must be sent back unchanged, such as the signature of a reasoning part. */
export type VendorData = Readonly<Record<string, unknown>>;

export interface TextPart {
  type: 'text';
  text: string;
  vendorData?: VendorData;
}

interface ReasoningPart {
  type: 'reasoning';
  text: string;
  vendorData?: VendorData;
}

/** An attached file, such as an image. */
export interface FilePart {
  type: 'file';
  mediaType: string;
  /** The content in Base64. */
  data: string;
  filename?: string;
}

export interface ToolCallPart {
  type: 'tool-call';
  id: string;
  name: string;
  input: unknown;
  /** The input as the model wrote it, if that is not valid JSON. `input` is then an empty object. */
  malformed?: string;
  vendorData?: VendorData;
}

export interface ToolResultPart {
  type: 'tool-result';
  id: string;
  name: string;
  output: string;
  failed?: boolean;
}

export type AssistantPart = TextPart | ReasoningPart | ToolCallPart;

/** One entry of a conversation. Plain JSON, so that a run can be stored and resumed. */
export type ModelMessage =
  | { role: 'system'; text: string }
  | { role: 'user'; content: (TextPart | FilePart)[] }
  | { role: 'assistant'; content: AssistantPart[] }
  | { role: 'tool'; content: ToolResultPart[] };

export function userMessage(text: string): ModelMessage {
  return { role: 'user', content: [{ type: 'text', text }] };
}

/** Returns the text of an answer, without its reasoning and its calls of tools. */
export function textOf(content: readonly AssistantPart[]): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

export function toolCallsOf(content: readonly AssistantPart[]): ToolCallPart[] {
  return content.filter((part) => part.type === 'tool-call');
}
