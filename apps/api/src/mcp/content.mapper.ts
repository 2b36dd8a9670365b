import type { ContentBlock } from '@modelcontextprotocol/server';
import type { ContentPart } from '#rollcall/providers';
import type { FileInput } from './run.input.js';
import { JSON_MEDIA_TYPE } from '../http/body/json-body.parser.js';

const OCTETS = 'application/octet-stream';
/** The key of the file name in `_meta`, because images, sounds and embedded resources have no field for it. */
export const FILENAME = 'rollcall/filename';

/** Converts the parts of an answer. Each file keeps its bytes, its media type and its name. */
export function toContent(runId: string, parts: readonly ContentPart[]): ContentBlock[] {
  return parts.map((part, index) => toBlock(part, `rollcall://runs/${runId}/parts/${index + 1}`));
}

/** Converts the files of a request. */
export function toFileParts(files: readonly FileInput[]): ContentPart[] {
  return files.map(({ filename, mediaType = OCTETS, ...content }) => {
    const about = { mediaType, ...(filename !== undefined && { name: filename }) };
    return 'base64' in content
      ? { type: 'file', bytes: content.base64, ...about }
      : { type: 'file', url: content.url, ...about };
  });
}

function toBlock(part: ContentPart, uri: string): ContentBlock {
  if (part.type === 'text') return { type: 'text', text: part.text };
  if (part.type === 'data') {
    const { data, mediaType: mimeType = JSON_MEDIA_TYPE } = part;
    return { type: 'resource', resource: { uri, mimeType, text: JSON.stringify(data) } };
  }
  const { mediaType: mimeType, name } = part;
  if ('url' in part) return { type: 'resource_link', uri: part.url, name: name ?? part.url, mimeType };
  const named = name === undefined ? {} : { _meta: { [FILENAME]: name } };
  const { bytes } = part;
  if (mimeType.startsWith('image/')) return { type: 'image', data: bytes, mimeType, ...named };
  if (mimeType.startsWith('audio/')) return { type: 'audio', data: bytes, mimeType, ...named };
  return { type: 'resource', resource: { uri, mimeType, blob: bytes, ...named } };
}
