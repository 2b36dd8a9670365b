import { EventLog } from '#rollcall/platform';
import { until } from '#rollcall/test-support';
import type { Registration } from '../support/agent-client.js';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';

type QueryAnswer = Answer<{ candidates?: { agent: Registration }[]; code?: string }>;

let api: TestApi;
let other: TestApi;
let release: (() => void) | undefined;
beforeEach(async () => {
  api = await startApi({}, { constants: { discovery: { staleAfter: 2_000 } } });
  other = await api.replica();
});
afterEach(async () => {
  release?.();
  await other.stop();
  await api.stop();
});

async function ask(consistency?: 'strong'): Promise<QueryAnswer> {
  return await api.call('POST', '/v1/agents/query', { body: { capabilities: ['build'], consistency } });
}

/** Stops a replica from reading the log, as if it were frozen, until the returned function is called. */
function stopReading(replica: TestApi): () => void {
  const log = replica.app.nest.get(EventLog, { strict: false });
  const page = log.page.bind(log);
  const gate = Promise.withResolvers<void>();
  log.page = async (...request) => {
    await gate.promise;
    return await page(...request);
  };
  return gate.resolve;
}

describe('a replica that has not read the log for some seconds', () => {
  it('D10 answers queries with 503 instead of agents that have left, and answers them again when it has read the log', async () => {
    await other.given.agent({ agentId: 'leaver' });
    await until('the agent is found', async () => (await ask()).body.candidates?.length === 1);
    release = stopReading(api);
    expect((await other.call('POST', '/v1/agents/leaver/evict')).status).toBe(204);
    await until('the replica rejects the query', async () => (await ask()).status === 503);
    expect(await ask()).toMatchObject({ status: 503, body: { code: 'DIRECTORY_STALE' } });
    expect((await ask('strong')).body.candidates).toEqual([]);
    release();
    const answer = await ask();
    expect([answer.status, answer.body.candidates]).toEqual([200, []]);
  });
});
