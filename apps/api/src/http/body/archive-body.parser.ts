import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { type Entry, extract, type Extract } from 'tar-stream';
import { ApiError } from '../problems/api.error.js';
import { routeConfig } from '../server/routes.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the body may be an archive instead of JSON. */
    archive?: boolean;
  }
}

export interface ArchivedFile {
  readonly path: string;
  readonly content: string;
}

const MAX_UNPACKED_BYTES = 4 * 1_024 * 1_024;
const MAX_ENTRIES = 2_000;
/** The whole archive is in memory, so a complete one takes a few milliseconds. */
const PARSE_MS = 2_000;
const GZIP_TYPES = ['application/gzip', 'application/x-gzip'];
/** These types are not accepted. They have a parser only for a better error message. */
const TAR_TYPES = ['application/x-tar', 'application/tar', 'application/x-gtar', 'application/x-compressed-tar'];
const SEND_JSON = 'Send the body as JSON, with the header Content-Type: application/json.';
const SEND_GZIP = 'Compress the archive with gzip, and send it with the header Content-Type: application/gzip.';
/** The first bytes of any gzip data. */
const GZIP_START = Buffer.from([0x1f, 0x8b]);
const FILE_TYPES: ReadonlySet<unknown> = new Set(['file', 'contiguous-file', null, undefined]);
const unzip = promisify(gunzip);

/** The files of a request whose body is an archive. Its JSON form is a hash of the archive, so that a repeated request is recognised. */
export class ArchiveBody {
  readonly #files: readonly ArchivedFile[];
  readonly #hash: string;

  constructor(files: readonly ArchivedFile[], archive: Buffer) {
    this.#files = files;
    this.#hash = createHash('sha256').update(archive).digest('hex');
  }

  get files(): readonly ArchivedFile[] {
    return this.#files;
  }

  toJSON(): object {
    return { archive: this.#hash };
  }
}

/** Lets a route accept a tar archive that is compressed with gzip. */
export function AcceptsArchive(): MethodDecorator {
  return routeConfig({ archive: true });
}

interface ArchiveRequest {
  readonly routeOptions: { readonly config: { readonly archive?: boolean } };
}

export function useArchiveBodies(server: FastifyInstance): void {
  server.addContentTypeParser(GZIP_TYPES, { parseAs: 'buffer' }, async (request: ArchiveRequest, body: Buffer) => {
    if (request.routeOptions.config.archive) return await unpack(body);
    throw unsupported(SEND_JSON);
  });
  server.addContentTypeParser(TAR_TYPES, { parseAs: 'buffer' }, async (request: ArchiveRequest) => {
    await Promise.reject(unsupported(request.routeOptions.config.archive ? SEND_GZIP : SEND_JSON));
  });
}

function unsupported(message: string): ApiError {
  return new ApiError('UNSUPPORTED_MEDIA_TYPE', message);
}

/** Reads an archive in memory. Nothing is written to a disk. */
async function unpack(body: Buffer): Promise<ArchiveBody> {
  const tar = extract();
  tar.on('error', () => undefined); // the iteration also reports it
  const late = Promise.withResolvers<never>();
  // A header whose size is no number makes the parser wait for data that never arrives (S-14).
  const timer = setTimeout(() => late.reject(invalid('The archive takes too long to read')), PARSE_MS);
  late.promise.catch(() => undefined); // the time can pass before the race begins
  try {
    tar.end(await decompress(body));
    return new ArchiveBody(await Promise.race([filesOf(tar), late.promise]), body);
  } catch (error) {
    throw error instanceof ApiError ? error : invalid('The body is not a complete tar archive');
  } finally {
    clearTimeout(timer);
    tar.destroy();
  }
}

async function filesOf(tar: Extract): Promise<ArchivedFile[]> {
  const files: ArchivedFile[] = [];
  let count = 0;
  for await (const entry of tar) {
    if (++count > MAX_ENTRIES) throw invalid(`The archive has more than ${MAX_ENTRIES} entries`);
    const file = await readEntry(entry);
    if (file) files.push(file);
  }
  return files;
}

async function decompress(body: Buffer): Promise<Buffer> {
  try {
    return await unzip(body, { maxOutputLength: MAX_UNPACKED_BYTES });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
      throw invalid(`The archive has more than ${MAX_UNPACKED_BYTES} bytes`);
    const isGzip = body.subarray(0, GZIP_START.length).equals(GZIP_START);
    throw invalid(isGzip ? 'The gzip data is incomplete or damaged' : 'The body is not compressed with gzip');
  }
}

/** Returns undefined for a folder. */
async function readEntry(entry: Entry): Promise<ArchivedFile | undefined> {
  const { name, type, size = 0 } = entry.header;
  if (!Number.isSafeInteger(size) || size < 0) throw invalid('An entry has a size that is not a number');
  const chunks: Buffer[] = [];
  for await (const chunk of entry) chunks.push(chunk);
  if (type === 'directory') return undefined;
  if (!FILE_TYPES.has(type)) throw invalid(`${JSON.stringify(name.slice(0, 100))} is a link or a special file`);
  return { path: name, content: Buffer.concat(chunks).toString('utf8') };
}

function invalid(what: string): ApiError {
  return new ApiError('ARCHIVE_INVALID', `${what}. Send a tar archive with regular files, compressed with gzip.`);
}
