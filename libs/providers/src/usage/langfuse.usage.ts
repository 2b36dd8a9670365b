import type { LangfuseClient } from '@langfuse/client';
import { EgressPolicy } from '../egress/egress.policy.js';
import { readRetryAfter } from '../egress/retry-after.js';
import { ProviderError, reasonOf } from '../errors.js';
import { toMicroDollars } from '../presets/prices.js';
import type { Secret } from '../secrets/secret.js';

export interface LangfuseUsageOptions {
  baseUrl: string;
  publicKey: string;
  secretKey: Secret;
  /** The field that contains the agentId: the name of the trace, or of the observation. */
  agentField: LangfuseAgentField;
  /** Checks the address before it is called. */
  policy: EgressPolicy;
  timeoutMs?: number;
}

type LangfuseAgentField = 'traceName' | 'name';

interface UsageCount {
  tokens: number;
  microUsd: number;
}

type MetricsRow = Record<string, unknown>;

/** The query is part of the URL, whose length is limited. */
const MAX_PAGE = { agents: 50, characters: 4_000 };
/** A time before and a time after all data of Langfuse. */
const MIN_TIMESTAMP = '2020-01-01T00:00:00.000Z';
const MAX_TIMESTAMP = '2100-01-01T00:00:00.000Z';
const DEFAULT_TIMEOUT_MS = 10_000;
const [TOKENS, COST] = ['sum_totalTokens', 'sum_totalCost'];

/**
 * Reads the usage of agents from the metrics API of Langfuse, as sums per agent, for many agents in one request. It
 * does not retry; an error contains the time to wait. The client library uses its own HTTP client, so the policy checks
 * only the configured address and not each resolved address. This is safe because only the operator can set the
 * address.
 */
export class LangfuseUsage {
  readonly name = 'langfuse';
  private client?: Promise<LangfuseClient>;
  private isLegacy = false;

  constructor(private readonly options: LangfuseUsageOptions) {
    options.policy.checkUrl(options.baseUrl);
  }

  async usage({
    agentIds,
    since,
  }: {
    agentIds: readonly string[];
    since: Date | null;
  }): Promise<Map<string, UsageCount>> {
    const usage = new Map<string, UsageCount>();
    for (const page of pagesOf([...new Set(agentIds)])) {
      for (const row of await this.query(page, since?.toISOString() ?? MIN_TIMESTAMP)) {
        const agentId = row[this.options.agentField];
        if (typeof agentId === 'string') usage.set(agentId, countsIn(row));
      }
    }
    return usage;
  }

  private async query(agentIds: readonly string[], fromTimestamp: string): Promise<MetricsRow[]> {
    const { agentField: field } = this.options;
    const query = JSON.stringify({
      view: 'observations',
      dimensions: [{ field }],
      metrics: [
        { measure: 'totalTokens', aggregation: 'sum' },
        { measure: 'totalCost', aggregation: 'sum' },
      ],
      filters: [{ column: field, operator: 'any of', value: agentIds, type: 'stringOptions' }],
      fromTimestamp,
      toTimestamp: MAX_TIMESTAMP,
      config: { row_limit: 1_000 },
    });
    try {
      const { data } = await this.call(query);
      if (!Array.isArray(data)) throw unreadable('the response has no data');
      return data;
    } catch (error) {
      throw this.explain(error);
    }
  }

  /** Older installations offer only the first version of the metrics API. The query is the same. */
  private async call(query: string): Promise<{ data: MetricsRow[] }> {
    const { api } = await (this.client ??= this.createClient());
    const { metrics, legacy } = api;
    const { timeoutMs = DEFAULT_TIMEOUT_MS } = this.options;
    // the timeout of the library covers only the headers of the response; this timeout also covers the body
    const options = { maxRetries: 0, abortSignal: AbortSignal.timeout(timeoutMs) };
    if (!this.isLegacy) {
      try {
        return await metrics.metrics({ query }, options);
      } catch (error) {
        if (statusOf(error) !== 404) throw error;
        this.isLegacy = true;
      }
    }
    // oxlint-disable-next-line typescript/no-deprecated -- for older installations
    return await legacy.metricsV1.metrics({ query }, options);
  }

  /** The package is large, so it is loaded only if Langfuse is configured. */
  private async createClient(): Promise<LangfuseClient> {
    const { LangfuseClient } = await import('@langfuse/client');
    const { baseUrl, publicKey, secretKey, timeoutMs = DEFAULT_TIMEOUT_MS } = this.options;
    return new LangfuseClient({ baseUrl, publicKey, secretKey: secretKey.reveal(), timeout: timeoutMs / 1_000 });
  }

  private explain(error: unknown): ProviderError {
    if (error instanceof ProviderError) return error;
    const status = statusOf(error);
    const label = `Langfuse at ${new URL(this.options.baseUrl).host}`;
    if (status === undefined) {
      const reason = this.options.secretKey.redactIn(reasonOf(error)).slice(0, 200);
      return new ProviderError('USAGE_SOURCE_UNAVAILABLE', `${label} cannot be reached: ${reason}`);
    }
    const options = { status, retryAfterMs: readRetryAfter(headersOf(error)) };
    if (status === 401 || status === 403)
      return new ProviderError(
        'USAGE_KEY_REFUSED',
        `${label} rejected the keys (${status}). Check the public key and the secret key.`,
        options,
      );
    if (status === 429)
      return new ProviderError(
        'USAGE_RATE_LIMITED',
        `${label} limits the rate of requests (429). Increase the refresh interval.`,
        options,
      );
    if (status >= 500)
      return new ProviderError('USAGE_SOURCE_UNAVAILABLE', `${label} responded with ${status}.`, options);
    return unreadable(`${label} responded with ${status} to a metrics query`);
  }
}

function* pagesOf(agentIds: readonly string[]): Iterable<string[]> {
  let page: string[] = [];
  let characters = 0;
  for (const agentId of agentIds) {
    if (page.length >= MAX_PAGE.agents || characters + agentId.length > MAX_PAGE.characters) {
      yield page;
      [page, characters] = [[], 0];
    }
    page.push(agentId);
    characters += agentId.length;
  }
  if (page.length > 0) yield page;
}

/** Langfuse returns sums as text. */
function countsIn(row: MetricsRow): UsageCount {
  const [tokens, dollars] = [Number(row[TOKENS] ?? 0), Number(row[COST] ?? 0)];
  if (!Number.isSafeInteger(tokens) || tokens < 0 || !(dollars >= 0))
    throw unreadable('the sums are not valid numbers');
  return { tokens, microUsd: toMicroDollars(dollars) };
}

function unreadable(why: string): ProviderError {
  return new ProviderError('USAGE_ANSWER_UNREADABLE', `The usage source cannot be read: ${why}.`);
}

function statusOf(error: unknown): number | undefined {
  const { statusCode } = (error ?? {}) as { statusCode?: unknown };
  return typeof statusCode === 'number' ? statusCode : undefined;
}

function headersOf(error: unknown): Record<string, string> {
  const { rawResponse } = (error ?? {}) as { rawResponse?: { headers?: Headers } };
  return rawResponse?.headers ? Object.fromEntries(rawResponse.headers) : {};
}
