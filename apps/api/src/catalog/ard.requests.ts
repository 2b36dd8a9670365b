import { z } from 'zod';
import { MAX_PAGE_SIZE, PageSizeSchema, readRequest } from './request.reader.js';

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
