import { until } from '#rollcall/registry/testing';
import { startApi, type TestApi } from '../support/api.js';
import { exampleOf, ExampleRunner } from '../support/doc-example.js';
import { joined, left, tell } from '../support/events.js';

let api: TestApi;
let examples: ExampleRunner;

beforeAll(async () => {
  api = await startApi();
  examples = new ExampleRunner({ ROLLCALL_URL: api.url, ROLLCALL_KEY: api.adminKey });
});
afterAll(async () => {
  examples.stop();
  await api.stop();
});

describe('the consumers of docs/events.md', () => {
  it('B3 print the events that were and those that come', async () => {
    const script = exampleOf('events.md', 'js');
    expect(script.trim().split('\n').length).toBeLessThanOrEqual(17);
    await tell(api, joined('early'));
    const node = examples.node(script);
    const curl = examples.shell(exampleOf('events.md', 'sh'));
    await until('node has the first', () => node.output() === '1 agent.joined early\n');
    await until('curl has the first', () => /^id: 1-[0-9a-f]{8}\nevent: agent.joined\n/m.test(curl.output()));
    await tell(api, left('early'));
    await until('node has the second', () => node.output() === '1 agent.joined early\n2 agent.left early\n');
    await until('curl has the second', () => /^id: 2-[0-9a-f]{8}\nevent: agent.left\n/m.test(curl.output()));
    expect(curl.output()).toContain('"type":"agent.left","subject":"early"');
  });
});
