import {
  type AgentEvent,
  type AgentMessage,
  type AgentResult,
  type AgentUsage,
  type ContentPart,
  type FilePart,
  type ModelMessage,
  ProviderError,
  type TextPart,
} from '#rollcall/providers';
import { labelled } from '../untrusted.text.js';
import type { LoopEvent, LoopStep } from '../loop/loop.step.js';
import type { RunOutcome } from '../loop/run.outcome.js';

type File = Extract<ContentPart, { type: 'file' }>;

/** The media types that most models with vision can read. */
const DEFAULT_INPUT_MEDIA: readonly string[] = [
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
  const { mediaType, bytes: data, name, path } = file;
  // a line of its own, also where the parts are joined
  if (path !== undefined) return text(`\n[The file ${JSON.stringify(path)} (${mediaType}) is in the workspace.]`);
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

/** Converts an event of a run for the caller of an agent. Returns undefined if the caller does not need it. */
export function toAgentEvent(event: LoopEvent): AgentEvent | undefined {
  switch (event.type) {
    case 'text':
      return { type: 'text', text: event.text };
    case 'progress':
      return { type: 'progress', text: event.text };
    case 'reasoning':
      return undefined;
    case 'step':
      return ofStep(event.step);
  }
}

function ofStep(step: LoopStep): AgentEvent | undefined {
  if (step.type === 'tool-called') {
    const { id, name, input } = step.call;
    return { type: 'tool-call', id, name, input };
  }
  if (step.type !== 'tool-finished') return undefined;
  const { callId: id, name, output, failed } = step;
  return { type: 'tool-result', id, name, output, ...(failed && { failed }) };
}

export function toAgentResult(outcome: RunOutcome, usage: AgentUsage, conversationId?: string): AgentResult {
  const base = { usage, ...(conversationId !== undefined && { conversationId }) };
  switch (outcome.type) {
    case 'completed':
    case 'input-required':
    case 'refused':
      return { ...base, outcome: outcome.type, parts: outcome.parts };
    case 'waiting':
      return { ...base, outcome: 'waiting', approvals: outcome.approvals, parts: [] };
    case 'stopped':
      return { ...base, outcome: 'stopped', reason: outcome.reason, detail: outcome.detail, parts: outcome.parts };
  }
}
