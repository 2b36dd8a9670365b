import { EgressPolicy } from '../egress/egress.policy.js';
import { Secret } from '../secrets/secret.js';
import { LangfuseServer } from '../testing/langfuse.server.js';
import { LangfuseUsage, type LangfuseUsageOptions } from './langfuse.usage.js';

let server: LangfuseServer;
beforeEach(async () => void (server = await LangfuseServer.start()));
afterEach(async () => await server.close());

const policy = new EgressPolicy({ allowLoopback: true });

function source(overrides: Partial<LangfuseUsageOptions> = {}): LangfuseUsage {
  const { publicKey, secretKey } = server.keys;
  const options = { baseUrl: server.url, publicKey, secretKey: new Secret(secretKey), policy, timeoutMs: 5_000 };
  return new LangfuseUsage({ ...options, agentField: 'traceName', ...overrides });
}

const YESTERDAY = new Date('2026-02-23T10:00:00Z');
const TODAY = new Date('2026-02-24T10:00:00Z');

describe('usage from Langfuse', () => {
  it('S3.10 returns the sum of tokens and cost of each agent, in total or since a date', async () => {
    server.traced.push(
      { agentId: 'builder', totalTokens: 1_000, totalCost: 0.25, at: YESTERDAY },
      { agentId: 'builder', totalTokens: 234, totalCost: 0.000001, at: TODAY },
      { agentId: 'other', totalTokens: 9, totalCost: 9, at: TODAY },
    );
    const langfuse = source();
    expect(await langfuse.usage({ agentIds: ['builder', 'idle'], since: null })).toEqual(
      new Map([['builder', { tokens: 1_234, microUsd: 250_001 }]]),
    );
    const since = new Date('2026-02-24T00:00:00Z');
    expect(await langfuse.usage({ agentIds: ['builder'], since })).toEqual(
      new Map([['builder', { tokens: 234, microUsd: 1 }]]),
    );
    expect(server.queries[0]).toMatchObject({ view: 'observations', dimensions: [{ field: 'traceName' }] });
  });

  it('S3.10 sends several queries if the agents do not fit into one query', async () => {
    const agentIds = Array.from({ length: 130 }, (_, index) => `agent-${index}`);
    for (const agentId of agentIds) server.traced.push({ agentId, totalTokens: 7, totalCost: 0, at: TODAY });
    const usage = await source().usage({ agentIds, since: null });
    expect(usage.size).toBe(130);
    expect(server.queries.map(({ filters }) => filters[0]?.value.length)).toEqual([50, 50, 30]);
    const long = Array.from({ length: 50 }, (_, index) => `${'x'.repeat(120)}-${index}`);
    await source().usage({ agentIds: long, since: null });
    expect(server.queries.slice(3).map(({ filters }) => filters[0]?.value.length)).toEqual([32, 18]);
  });

  it('S3.10 reads from an installation that has only the first metrics API', async () => {
    server.isOld = true;
    server.traced.push({ agentId: 'builder', totalTokens: 5, totalCost: 0, at: TODAY });
    const langfuse = source({ agentField: 'name' });
    expect((await langfuse.usage({ agentIds: ['builder'], since: null })).get('builder')?.tokens).toBe(5);
    await langfuse.usage({ agentIds: ['builder'], since: null });
    expect(server.queries).toHaveLength(3);
  });

  it('S3.10 reports a wrong key as USAGE_KEY_REFUSED, and the error does not contain the key', async () => {
    const langfuse = source({ secretKey: new Secret('sk-lf-stolen') });
    const error = await langfuse.usage({ agentIds: ['a'], since: null }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'USAGE_KEY_REFUSED', status: 401, fault: 'operator' });
    expect(String(error)).not.toContain('sk-lf-stolen');
  });

  it('S3.10 reports USAGE_RATE_LIMITED with the requested delay, and does not retry automatically', async () => {
    server.fault = { status: 429, headers: { 'retry-after': '7' } };
    await expect(source().usage({ agentIds: ['a'], since: null })).rejects.toMatchObject({
      code: 'USAGE_RATE_LIMITED',
      retryAfterMs: 7_000,
      retryable: true,
    });
    expect(server.queries).toHaveLength(1);
  });

  it('S3.10 reports USAGE_SOURCE_UNAVAILABLE when the server fails or is unreachable', async () => {
    const unreachable = source({ timeoutMs: 100 }); // the library does not clear its timer after a failure
    server.fault = { status: 502 };
    await expect(source().usage({ agentIds: ['a'], since: null })).rejects.toMatchObject({
      code: 'USAGE_SOURCE_UNAVAILABLE',
    });
    await server.close();
    await expect(unreachable.usage({ agentIds: ['a'], since: null })).rejects.toMatchObject({
      code: 'USAGE_SOURCE_UNAVAILABLE',
      retryable: true,
    });
  });

  it('S3.10 reports USAGE_SOURCE_UNAVAILABLE when the server starts an answer and never ends it', async () => {
    server.stalls = true;
    await expect(source({ timeoutMs: 300 }).usage({ agentIds: ['a'], since: null })).rejects.toMatchObject({
      code: 'USAGE_SOURCE_UNAVAILABLE',
    });
  });

  it('S3.10 sends no request to an address that the egress policy denies', () => {
    expect(() => source({ policy: new EgressPolicy() })).toThrow(expect.objectContaining({ code: 'EGRESS_DENIED' }));
  });
});
