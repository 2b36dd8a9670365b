import { z } from 'zod';
import type { ContentPart } from '../content.part.js';

const DEFAULT_MEDIA_TYPE = 'application/octet-stream';

/** Many languages write null for a missing value. */
const Optional = z
  .string()
  .nullish()
  .transform((value) => value ?? undefined);
const Bytes = z.string().transform((text, context) => {
  const bytes = bytesOf(text);
  if (bytes) return bytes.toString('base64');
  context.addIssue({ code: 'custom', message: 'not Base64' });
  return z.NEVER;
});

const FileSchema = z
  .object({
    type: z.literal('file'),
    bytes: Bytes.nullish(),
    url: z.url().nullish(),
    mediaType: Optional,
    name: Optional,
  })
  .transform(({ bytes, url, mediaType = DEFAULT_MEDIA_TYPE, name }, context): ContentPart => {
    const about = { mediaType, ...(name !== undefined && { name }) };
    if (typeof bytes === 'string') return { type: 'file', bytes, ...about };
    if (typeof url === 'string') return { type: 'file', url, ...about };
    context.addIssue({ code: 'custom', message: 'a file needs bytes or a url' });
    return z.NEVER;
  });

const DataSchema = z
  .object({ type: z.literal('data'), data: z.unknown(), mediaType: Optional })
  .transform(({ data, mediaType }): ContentPart => ({ type: 'data', data, ...(mediaType && { mediaType }) }));

/** A part as an agent sends it. An unknown type is an error, because the answer would be incomplete without the part. */
export const PartSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  DataSchema,
  FileSchema,
]);

export const ArtifactSchema = z
  .object({
    id: z.string(),
    name: Optional,
    parts: z.array(PartSchema),
    append: z.boolean().nullish(),
    last: z.boolean().nullish(),
  })
  .transform(({ id, name, parts, append, last }) => ({
    id,
    ...(name !== undefined && { name }),
    parts,
    append: append ?? false,
    last: last ?? false,
  }));

/**
 * Reads Base64 in both alphabets, with or without padding. Node ignores characters that are not Base64, so then there are
 * fewer bytes than expected. A regular expression would take much longer for a large file.
 */
function bytesOf(text: string): Buffer | undefined {
  const length = text.length - (text.endsWith('==') ? 2 : Number(text.endsWith('=')));
  const bytes = Buffer.from(text, 'base64');
  const isComplete = length % 4 !== 1 && bytes.length === Math.floor((length * 3) / 4);
  return isComplete ? bytes : undefined;
}
