import { DatabaseUnavailableError, EventFeed, EventLog } from '#rollcall/platform';
import { until } from '#rollcall/test-support';
import { AgentsService } from '#rollcall/registry';
import { AgentClient, type Life } from '../support/agent-client.js';
import { startApi, type TestApi } from '../support/api.js';

let api: TestApi;
beforeEach(async () => (api = await startApi()));
afterEach(async () => await api.stop());

async function finds(agentId: string): Promise<boolean> {
  const body = { capabilities: ['build'], limit: 100 };
  const answer = await api.call<{ candidates: { agent: Life }[] }>('POST', '/v1/agents/query', { body });
  return answer.body.candidates.some(({ agent }) => agent.agentId === agentId);
}

/** As a restore from a backup would. */
async function setLogBack(): Promise<void> {
  await api.database.db.query('WITH gone AS (DELETE FROM event_log) UPDATE event_counter SET head = 0 WHERE id = 1');
  api.app.nest.get(EventFeed, { strict: false }).wake();
}

describe('a replica whose place in the log is gone', () => {
  it('S3.11 B4 hears of agents, and its sockets of operators, also when the database is away at that moment', async () => {
    const other = await api.replica();
    const life = await api.given.agent({ agentId: 'builder-01' });
    const agent = await AgentClient.connect(api.url, life);
    await agent.received('welcome');
    await until('it is known', async () => await finds('builder-01'));
    const log = api.app.nest.get(EventLog, { strict: false });
    const head = log.head.bind(log);
    let asked = 0;
    log.head = async () => {
      if ((asked += 1) <= 2) throw new DatabaseUnavailableError('for the test');
      return await head();
    };
    await setLogBack();
    await until('it asked in vain', () => asked > 0);
    await other.given.agent({ agentId: 'late' });
    await until('it is found', async () => await finds('late'));
    await other.call('POST', '/v1/agents/builder-01/drain');
    expect(await agent.received('control')).toMatchObject({ action: 'drain' });
    await other.stop();
  });
});

describe('an agent that cannot be welcomed', () => {
  it('S3.4 is told why and sent away to come again, and does not wait for ever', async () => {
    const life = await api.given.agent({ agentId: 'builder-01' });
    const agents = api.app.nest.get(AgentsService, { strict: false });
    const identify = agents.identify.bind(agents);
    agents.identify = async () => {
      agents.identify = identify;
      throw new DatabaseUnavailableError('for the test');
    };
    const agent = await AgentClient.connect(api.url, life);
    expect(await agent.received('error')).toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    expect(await agent.closed()).toEqual({ code: 1013, reason: { code: 'TRY_AGAIN' } });
    await (await AgentClient.connect(api.url, life)).received('welcome');
  });
});
