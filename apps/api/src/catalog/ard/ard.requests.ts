import { z } from 'zod';
import type { CatalogEntry } from '../catalog.entry.js';
import { publisherOf } from '../catalog.names.js';
import { invalid, MAX_PAGE_SIZE, PageSizeSchema, readRequest } from '../catalog.requests.js';

const MAX_FILTERS = 16;
const MAX_VALUES = 100;
const MAX_FACETS = 16;

const Path = z.string().min(1).max(300);
const Value = z.string().max(2_048);
const Filter = z
  .record(Path, z.union([Value.transform((one) => [one]), z.array(Value).min(1).max(MAX_VALUES)]))
  .refine((filter) => Object.keys(filter).length <= MAX_FILTERS, `at most ${MAX_FILTERS} terms`);
const Text = z.string().trim().min(1).max(2_048);
const Query = z.strictObject({ '@context': z.unknown().optional(), text: Text.optional(), filter: Filter.optional() });
const PageToken = z.string().min(1).max(2_000).optional();

const SearchRequest = z.strictObject({
  query: Query.required({ text: true }),
  federation: z.enum(['auto', 'referrals', 'none']).default('auto'),
  pageSize: z.int().min(1).max(MAX_PAGE_SIZE).default(10),
  pageToken: PageToken,
});

const ExploreRequest = z.strictObject({
  query: Query.default({}),
  resultType: z.strictObject({
    facets: z
      .array(
        z.strictObject({
          field: Path,
          limit: z.int().min(1).max(1_000).default(20),
          minCount: z.int().min(1).default(1),
        }),
      )
      .min(1)
      .max(MAX_FACETS),
  }),
});

const ListRequest = z.strictObject({
  filter: z.string().max(2_000).default(''),
  orderBy: z.string().max(100).default('identifier'),
  pageSize: PageSizeSchema.default(20),
  pageToken: PageToken,
});

export type ArdQuery = z.output<typeof Query>;
export type SearchRequest = z.output<typeof SearchRequest>;
export type ExploreRequest = z.output<typeof ExploreRequest>;
export type ListRequest = z.output<typeof ListRequest>;

export const readSearch = (body: unknown): SearchRequest => readRequest(SearchRequest, body);
export const readExplore = (body: unknown): ExploreRequest => readRequest(ExploreRequest, body);
export const readList = (query: unknown): ListRequest => readRequest(ListRequest, query);

type Condition = (entry: CatalogEntry) => boolean;

const CONDITION = /^(\w{1,40}) ?(=|>) ?'([^']{0,1000})'$/;

/** Whether an entry matches one value: its name contains the value in any case, or its type or publisher is the value. */
const EQUAL: Readonly<Record<string, (entry: CatalogEntry, value: string) => boolean>> = {
  displayName: ({ displayName }, value) => displayName.toLowerCase().includes(value.toLowerCase()),
  type: ({ type }, value) => type === value,
  publisherId: ({ identifier }, value) => publisherOf(identifier) === value,
};
/** Both fields are compared with the time of the registration. */
const AFTER: ReadonlySet<string> = new Set(['createdAfter', 'updatedAfter']);

/** Reads the filter of a list: `type = 'application/json,text/plain' AND updatedAfter > '2026-01-01'`. Commas separate alternatives. */
export function listFilter(text: string): Condition {
  if (text.trim() === '') return () => true;
  const conditions = text
    .trim()
    .split(/\sAND\s/)
    .map((part) => conditionOf(part.trim()));
  return (entry) => conditions.every((condition) => condition(entry));
}

function conditionOf(part: string): Condition {
  const [, field = '', operator, value = ''] = CONDITION.exec(part) ?? [];
  if (operator !== undefined && AFTER.has(field)) return afterOf(value);
  const equal = Object.hasOwn(EQUAL, field) ? EQUAL[field] : undefined;
  if (!equal || operator !== '=') {
    throw invalid(
      `filter: ${part.slice(0, 100)} is not a condition. Write field = 'value', joined by AND, with the fields displayName, type, ` +
        `publisherId, createdAfter and updatedAfter.`,
    );
  }
  const values = value.split(',').map((one) => one.trim());
  return (entry) => values.some((one) => equal(entry, one));
}

function afterOf(value: string): Condition {
  const time = Date.parse(value);
  if (Number.isNaN(time)) throw invalid(`filter: ${value.slice(0, 100)} is not a time in ISO 8601.`);
  return ({ updatedAt }) => updatedAt !== undefined && Date.parse(updatedAt) > time;
}
