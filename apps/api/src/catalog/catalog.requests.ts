import { createHash } from 'node:crypto';
import { z } from 'zod';
import { ApiError } from '../http/problems/api.error.js';

const MAX_FAULTS_LENGTH = 1_000;

export const MAX_PAGE_SIZE = 100;

/** A page size in a query string. */
export const PageSizeSchema = z
  .string()
  .regex(/^\d{1,3}$/)
  .transform(Number)
  .pipe(z.int().min(1).max(MAX_PAGE_SIZE));

/** Rejects an invalid request with all its faults. */
export function readRequest<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const faults = result.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`);
  throw invalid(faults.join('; ').slice(0, MAX_FAULTS_LENGTH));
}

export function invalid(message: string): ApiError {
  return new ApiError('MALFORMED_REQUEST', message);
}

/** An element and its place in an order: by key, and then by name. */
export interface Ordered<T> {
  readonly key: string;
  readonly name: string;
  readonly value: T;
}

export interface EntryPage<T> {
  readonly items: readonly T[];
  /** Undefined on the last page. */
  readonly pageToken?: string;
}

export interface PageRequest {
  /** The parameters that determine the items and their order. A token is valid only for the same request. */
  readonly request: unknown;
  readonly pageSize: number;
  readonly pageToken?: string;
  readonly descending?: boolean;
}

type Position = readonly [key: string, name: string];

/**
 * Returns one page. A token contains the position of the last element. So if elements are added or removed between two pages, no
 * other element is repeated or left out. A forged token only selects another position.
 */
export function pageOf<T>(all: readonly Ordered<T>[], page: PageRequest): EntryPage<T> {
  const { request, pageSize, pageToken, descending = false } = page;
  const digest = createHash('sha256').update(JSON.stringify(request)).digest('base64url').slice(0, 12);
  const compare = (one: Position, other: Position): number => {
    if (one[0] !== other[0]) return one[0] < other[0] === descending ? 1 : -1;
    return one[1] < other[1] ? -1 : Number(one[1] > other[1]);
  };
  const start = pageToken === undefined ? undefined : positionIn(pageToken, digest);
  const rest = all
    .filter(({ key, name }) => !start || compare([key, name], start) > 0)
    .toSorted((one, other) => compare([one.key, one.name], [other.key, other.name]));
  const shown = rest.slice(0, pageSize);
  const last = shown.at(-1);
  const items = shown.map(({ value }) => value);
  return last && rest.length > pageSize ? { items, pageToken: tokenOf([last.key, last.name], digest) } : { items };
}

function tokenOf([key, name]: Position, digest: string): string {
  return Buffer.from(JSON.stringify([digest, key, name])).toString('base64url');
}

function positionIn(token: string, digest: string): Position {
  const parts = parsed(Buffer.from(token, 'base64url').toString('utf8'));
  const [of, key, name] = Array.isArray(parts) ? (parts as unknown[]) : [];
  if (of === digest && typeof key === 'string' && typeof name === 'string') return [key, name];
  throw invalid('Send the unchanged token of the previous page of the same request, or leave the token out.');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
