import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CommandError, usageError } from '../failure.js';
import { readGivenFile } from '../given.file.js';
import type { Io } from '../io.js';
import { ContextFile } from './context.file.js';

/** Options of every command that calls the server. */
export interface ConnectionOptions {
  readonly url?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly context?: string | undefined;
  readonly namespace?: string | undefined;
}

/** Where a command sends its calls, and where each value comes from. */
export interface Connection {
  readonly url: string;
  readonly urlFrom: string;
  readonly key: string | undefined;
  readonly keyFrom: string;
  readonly namespace: string | undefined;
}

const DEFAULT_URL = 'http://127.0.0.1:8080';
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** An option takes precedence over the environment, the environment over the context, and the context over the key of this folder. */
export function findConnection(options: ConnectionOptions, io: Pick<Io, 'env' | 'folder'>): Connection {
  const { env } = io;
  const contexts = new ContextFile(io);
  const found = contexts.find(options.context ?? (env['ROLLCALL_CONTEXT'] || undefined));
  const [foundUrl, urlFrom] = firstOf(
    [
      options.context === undefined ? undefined : found?.context.url,
      `the context ${found?.name}`,
      options.url === undefined,
    ],
    [options.url, '--url'],
    [env['ROLLCALL_URL'], 'ROLLCALL_URL'],
    [found?.context.url, `the context ${found?.name}`],
  ) ?? [DEFAULT_URL, 'the default'];
  const url = readUrl(foundUrl, urlFrom);
  const [key, keyFrom] = findKey(options, io, url, found) ?? [undefined, 'none'];
  const namespace = options.namespace ?? (env['ROLLCALL_NAMESPACE'] || undefined) ?? found?.context.namespace;
  return { url, urlFrom, key, keyFrom, namespace };
}

function firstOf(
  ...candidates: [value: string | undefined, from: string, applies?: boolean][]
): [string, string] | undefined {
  for (const [value, from, applies = true] of candidates)
    if (applies && value !== undefined && value !== '') return [value, from];
  return undefined;
}

/** A stored key is only sent to the server that it belongs to. */
function findKey(
  { keyFile, context }: ConnectionOptions,
  { env, folder }: Pick<Io, 'env' | 'folder'>,
  url: string,
  found: ReturnType<ContextFile['find']>,
): [key: string, from: string] | undefined {
  if (keyFile !== undefined) return [readKey(resolve(folder, keyFile)), '--key-file'];
  const stored = found?.context.key;
  const ofContext: [string, string] | undefined =
    stored !== undefined && sameServer(found?.context.url ?? '', url)
      ? [stored, `the context ${found?.name}`]
      : undefined;
  if (context !== undefined && ofContext) return ofContext;
  if (env['ROLLCALL_KEY']) return [env['ROLLCALL_KEY'], 'ROLLCALL_KEY'];
  if (env['ROLLCALL_KEY_FILE']) return [readKey(resolve(folder, env['ROLLCALL_KEY_FILE'])), 'ROLLCALL_KEY_FILE'];
  if (ofContext) return ofContext;
  const own = join(folder, '.rollcall', 'admin.key');
  if (LOOPBACK.test(new URL(url).hostname) && existsSync(own)) return [readKey(own), '.rollcall/admin.key'];
  return undefined;
}

function sameServer(one: string, other: string): boolean {
  return URL.canParse(one) && new URL(one).origin === new URL(other).origin;
}

/** Returns the URL without final slashes. */
function readUrl(url: string, from: string): string {
  const isHttp = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  if (!isHttp) throw usageError(`${url} (from ${from}) is not a URL such as ${DEFAULT_URL}.`);
  let end = url.length;
  while (url[end - 1] === '/') end -= 1;
  return url.slice(0, end);
}

/** Reads a key from a file. The key is never an argument, because other users can list the arguments of processes. */
export function readKey(file: string): string {
  const key = readGivenFile(file).trim();
  if (/^[\u0021-\u007e]+$/.test(key)) return key;
  throw new CommandError('KEY_INVALID', `${file} does not contain a key: it must be one word.`);
}
