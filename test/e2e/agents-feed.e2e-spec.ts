import { DatabaseUnavailableError, EventFeed, EventLog } from '#rollcall/platform';
import { until } from '#rollcall/test-support';
import { AgentsService } from '#rollcall/registry';
import { AgentClient, type Registration } from '../support/agent-client.js';
import { startApi, type TestApi } from '../support/api.js';

let api: TestApi;
beforeEach(async () => (api = await startApi()));
afterEach(async () => await api.stop());

async function finds(agentId: string): Promise<boolean> {
  const body = { capabilities: ['build'], limit: 100 };
  const answer = await api.call<{ candidates: { agent: Registration }[] }>('POST', '/v1/agents/query', { body });
  return answer.body.candidates.some(({ agent }) => agent.agentId === agentId);
}

/** Resets the log, like a restore from a backup. */
async function resetLog(): Promise<void> {
  await api.database.db.query('WITH deleted AS (DELETE FROM event_log) UPDATE event_counter SET head = 0 WHERE id = 1');
  api.app.nest.get(EventFeed, { strict: false }).wake();
}

describe('a replica whose cursor is beyond the head of a restored log', () => {
  it('S3.11 B4 finds new agents and forwards operator actions to its sockets, even if the database was unavailable in the meantime', async () => {
    const other = await api.replica();
    const registration = await api.given.agent({ agentId: 'builder-01' });
    const agent = await AgentClient.connect(api.url, registration);
    await agent.received('welcome');
    await until('the agent is found', async () => await finds('builder-01'));
    const log = api.app.nest.get(EventLog, { strict: false });
    const head = log.head.bind(log);
    let calls = 0;
    log.head = async () => {
      if ((calls += 1) <= 2) throw new DatabaseUnavailableError('for the test');
      return await head();
    };
    await resetLog();
    await until('the replica reads the head without success', () => calls > 0);
    await other.given.agent({ agentId: 'late' });
    await until('the new agent is found', async () => await finds('late'));
    await other.call('POST', '/v1/agents/builder-01/drain');
    expect(await agent.received('control')).toMatchObject({ action: 'drain' });
    await other.stop();
  });
});

describe('an agent whose socket cannot be set up', () => {
  it('S3.4 an agent whose socket cannot be set up receives the error, is closed with 1013, and can connect again', async () => {
    const registration = await api.given.agent({ agentId: 'builder-01' });
    const agents = api.app.nest.get(AgentsService, { strict: false });
    const identify = agents.identify.bind(agents);
    agents.identify = async () => {
      agents.identify = identify;
      throw new DatabaseUnavailableError('for the test');
    };
    const agent = await AgentClient.connect(api.url, registration);
    expect(await agent.received('error')).toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    expect(await agent.closed()).toEqual({ code: 1013, reason: { code: 'TRY_AGAIN' } });
    await (await AgentClient.connect(api.url, registration)).received('welcome');
  });
});
