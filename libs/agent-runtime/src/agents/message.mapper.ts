import {
  type AgentMessage,
  type ContentPart,
  type FilePart,
  type ModelMessage,
  ProviderError,
  type TextPart,
} from '#rollcall/providers';
import { labelled } from '../labels/labelled.text.js';

type File = Extract<ContentPart, { type: 'file' }>;

/** The media types that most models with vision can read. */
export const DEFAULT_INPUT_MEDIA: readonly string[] = [
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'application/pdf',
];
const TEXT_MEDIA = /^text\/|[/+](?:json|xml|yaml)$/;

/**
 * Converts a message for the model. JSON data and text files become text. A file that the model cannot read becomes a notice, so that
 * the model knows about it.
 */
export function toUserMessage({ parts }: AgentMessage, inputMedia = DEFAULT_INPUT_MEDIA): ModelMessage {
  const content = parts.map((part) => toModelPart(part, inputMedia)).filter((part) => !isEmpty(part));
  if (content.length > 0) return { role: 'user', content };
  throw new ProviderError('AGENT_REQUEST_REFUSED', 'The message is empty. Send a text, data or a file.');
}

function toModelPart(part: ContentPart, inputMedia: readonly string[]): TextPart | FilePart {
  if (part.type === 'text') return { type: 'text', text: part.text };
  if (part.type === 'data') return text(labelled('data', {}, JSON.stringify(part.data) ?? 'null'));
  return toFilePart(part, inputMedia);
}

function toFilePart(file: File, inputMedia: readonly string[]): TextPart | FilePart {
  if ('url' in file) return text(`[Attached ${labelOf(file)} at ${file.url}. Its content is not included.]`);
  const { mediaType, bytes: data, name } = file;
  if (inputMedia.includes(mediaType))
    return { type: 'file', mediaType, data, ...(name !== undefined && { filename: name }) };
  if (TEXT_MEDIA.test(mediaType)) return text(`[Attached ${labelOf(file)}]\n${labelled('file', {}, decoded(data))}`);
  return text(`[Attached ${labelOf(file)}. You cannot read files of this type.]`);
}

function labelOf({ name, mediaType }: File): string {
  return `file ${JSON.stringify(name ?? 'without a name')} (${mediaType})`;
}

function decoded(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}

function text(content: string): TextPart {
  return { type: 'text', text: content };
}

function isEmpty(part: TextPart | FilePart): boolean {
  return part.type === 'text' && part.text.trim() === '';
}
