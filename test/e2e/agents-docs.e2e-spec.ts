import { once } from 'node:events';
import { until } from '#rollcall/platform/testing';
import { startApi, type TestApi } from '../support/api.js';
import { exampleOf, ExampleRunner } from '../support/doc-example.js';

let api: TestApi;
let examples: ExampleRunner;

beforeAll(async () => {
  api = await startApi();
  examples = new ExampleRunner({ ROLLCALL_URL: api.url, ROLLCALL_KEY: await api.keyFor('agent') });
});
afterAll(async () => {
  examples.stop();
  await api.stop();
});

describe('the agent of docs/agents.md', () => {
  it('S3.2 S3.4 B4 joins, beats, hears what the operator wants, and ends when it is evicted', async () => {
    const agent = examples.node(exampleOf('agents.md', 'js'));
    const exit = once(agent.child, 'exit');
    await until('it has beaten', () => agent.output() === 'welcome \nbeaten \n');
    await api.call('POST', '/v1/agents/builder-02/drain');
    await until('it was told to drain', () => agent.output().endsWith('control drain\n'));
    await api.call('POST', '/v1/agents/builder-02/evict');
    expect(await exit).toEqual([0, null]);
    expect(agent.output()).toContain('control register\n');
  });
});
