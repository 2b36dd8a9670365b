import { LangfuseClient } from '@langfuse/client';
import { EgressPolicy } from '../egress/egress.policy.js';
import { ProviderError, reasonOf } from '../errors.js';
import { toMicroDollars } from '../presets/prices.js';
import { readRetryAfter } from '../retry-after.js';
import type { Secret } from '../secret.js';

export interface LangfuseUsageOptions {
  baseUrl: string;
  publicKey: string;
  secretKey: Secret;
  /** Where traces carry the agentId: the name of the trace, or of the observation. */
  agentField: LangfuseAgentField;
  /** Judges the address before it is called. */
  policy: EgressPolicy;
  timeoutMs?: number;
}

export const LANGFUSE_AGENT_FIELDS = ['traceName', 'name'] as const;
export type LangfuseAgentField = (typeof LANGFUSE_AGENT_FIELDS)[number];

export interface UsageCount {
  tokens: number;
  microUsd: number;
}

type MetricsRow = Record<string, unknown>;

/** The question travels in the address, and addresses have an end. */
const LONGEST_PAGE = { agents: 50, characters: 4_000 };
/** Langfuse has nothing older, and nothing newer. */
const EVER = '2020-01-01T00:00:00.000Z';
const STILL = '2100-01-01T00:00:00.000Z';
const USUAL_TIMEOUT_MS = 10_000;
const [TOKENS, COST] = ['sum_totalTokens', 'sum_totalCost'];

/**
 * What agents used, as Langfuse counted it: sums by agent from its metrics API, as many agents to a page as fit. Nothing is
 * retried here; an error says when to come again. The client library brings its own HTTP, so the policy judges the address
 * as it is written, and not each one it resolves to: it is the operator's own setting, never an agent's.
 */
export class LangfuseUsage {
  readonly name = 'langfuse';
  private readonly client: LangfuseClient;
  private isLegacy = false;

  constructor(private readonly options: LangfuseUsageOptions) {
    const { baseUrl, publicKey, secretKey, policy, timeoutMs = USUAL_TIMEOUT_MS } = options;
    policy.checkUrl(baseUrl);
    this.client = new LangfuseClient({ baseUrl, publicKey, secretKey: secretKey.reveal(), timeout: timeoutMs / 1_000 });
  }

  async usage({
    agentIds,
    since,
  }: {
    agentIds: readonly string[];
    since: Date | null;
  }): Promise<Map<string, UsageCount>> {
    const found = new Map<string, UsageCount>();
    for (const page of pagesOf([...new Set(agentIds)])) {
      for (const row of await this.ask(page, since?.toISOString() ?? EVER)) {
        const agentId = row[this.options.agentField];
        if (typeof agentId === 'string') found.set(agentId, countsIn(row));
      }
    }
    return found;
  }

  private async ask(agentIds: readonly string[], fromTimestamp: string): Promise<MetricsRow[]> {
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
      toTimestamp: STILL,
      config: { row_limit: 1_000 },
    });
    try {
      const { data } = await this.call(query);
      if (!Array.isArray(data)) throw unreadable('its answer has no data');
      return data;
    } catch (error) {
      throw this.explain(error);
    }
  }

  /** Older installations know the metrics under their first address only; the question is the same. */
  private async call(query: string): Promise<{ data: MetricsRow[] }> {
    const { metrics, legacy } = this.client.api;
    const { timeoutMs = USUAL_TIMEOUT_MS } = this.options;
    // the library's own time ends with the headers of an answer; this one with all of it
    const options = { maxRetries: 0, abortSignal: AbortSignal.timeout(timeoutMs) };
    if (!this.isLegacy) {
      try {
        return await metrics.metrics({ query }, options);
      } catch (error) {
        if (statusOf(error) !== 404) throw error;
        this.isLegacy = true;
      }
    }
    // oxlint-disable-next-line typescript/no-deprecated -- for installations that have no other
    return await legacy.metricsV1.metrics({ query }, options);
  }

  private explain(error: unknown): ProviderError {
    if (error instanceof ProviderError) return error;
    const status = statusOf(error);
    const label = `Langfuse at ${new URL(this.options.baseUrl).host}`;
    if (status === undefined) {
      const reason = this.options.secretKey.hideIn(reasonOf(error)).slice(0, 200);
      return new ProviderError('USAGE_SOURCE_UNAVAILABLE', `${label} cannot be reached: ${reason}`);
    }
    const facts = { status, retryAfterMs: readRetryAfter(headersOf(error)) };
    if (status === 401 || status === 403)
      return new ProviderError('USAGE_KEY_REFUSED', `${label} refused our keys (${status}). Check them.`, facts);
    if (status === 429)
      return new ProviderError('USAGE_RATE_LIMITED', `${label} wants us to come less often (429).`, facts);
    if (status >= 500) return new ProviderError('USAGE_SOURCE_UNAVAILABLE', `${label} answered ${status}.`, facts);
    return unreadable(`${label} answered ${status} to a question for metrics`);
  }
}

function* pagesOf(agentIds: readonly string[]): Iterable<string[]> {
  let page: string[] = [];
  let characters = 0;
  for (const agentId of agentIds) {
    if (page.length >= LONGEST_PAGE.agents || characters + agentId.length > LONGEST_PAGE.characters) {
      yield page;
      [page, characters] = [[], 0];
    }
    page.push(agentId);
    characters += agentId.length;
  }
  if (page.length > 0) yield page;
}

/** Sums of large numbers come as text. */
function countsIn(row: MetricsRow): UsageCount {
  const [tokens, dollars] = [Number(row[TOKENS] ?? 0), Number(row[COST] ?? 0)];
  if (!Number.isSafeInteger(tokens) || tokens < 0 || !(dollars >= 0)) throw unreadable('its sums are no numbers');
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
