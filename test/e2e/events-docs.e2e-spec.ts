import { CuttableProxy, proxyPostgres } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import { exampleOf, ExampleRunner, type RunningExample } from '../support/doc-example.js';
import { joined, left, tell } from '../support/events.js';

const TRANSPORTS = ['websocket', 'sse', 'rest'];

let api: TestApi;
let replica: TestApi;
let examples: ExampleRunner;
let database: CuttableProxy;
let gateway: CuttableProxy;

/** Consumers reach a replica through a gateway, and the replica reaches its database through a proxy. */
beforeEach(async () => {
  api = await startApi();
  const proxied = await proxyPostgres(api.database.url);
  database = proxied.proxy;
  replica = await api.replica({}, proxied.url);
  gateway = await CuttableProxy.start({ host: '127.0.0.1', port: Number(new URL(replica.url).port) });
  examples = new ExampleRunner({ ROLLCALL_URL: `http://127.0.0.1:${gateway.port}`, ROLLCALL_KEY: api.adminKey });
});
afterEach(async () => {
  examples.stop();
  database.heal();
  await gateway.stop();
  await replica.stop();
  await api.stop();
  await database.stop();
});

/** The events it printed, without what it said about its troubles. */
const printed = (consumer: RunningExample): string[] => consumer.output().match(/^\d+ agent\.\w+ .+$/gm) ?? [];

const upTo = (last: number): string[] => Array.from({ length: last }, (_, n) => `${n + 1} agent.joined a-${n + 1}`);

describe('the consumers of docs/events.md', () => {
  it('B3 print the events that were and those that come', async () => {
    await tell(api, joined('early'));
    const node = examples.program('consumer.js');
    const curl = examples.shell(exampleOf('events.md', 'sh'));
    await until('node has the first', () => node.output() === '1 agent.joined early\n');
    await until('curl has the first', () => /^id: 1-[0-9a-f]{8}\nevent: agent.joined\n/m.test(curl.output()));
    await tell(api, left('early'));
    await until('node has the second', () => node.output() === '1 agent.joined early\n2 agent.left early\n');
    await until('curl has the second', () => /^id: 2-[0-9a-f]{8}\nevent: agent.left\n/m.test(curl.output()));
    expect(curl.output()).toContain('"type":"agent.left","subject":"early"');
  });

  it.each(TRANSPORTS)(
    'D2 resume after their database and their gateway failed (%s)',
    async (TRANSPORT) => {
      database.cut();
      const consumer = examples.program('consumer.js', { TRANSPORT });
      await until('it was refused', () => consumer.output().includes('no events: DATABASE_UNAVAILABLE'));
      database.heal();
      for (const [index, fault] of ['none', 'database', 'gateway', 'database'].entries()) {
        if (fault === 'database') database.cut();
        if (fault === 'gateway') gateway.cut();
        await tell(api, joined(`a-${index + 1}`));
        const refusals = consumer.output().length;
        if (index === 3) await until('it was sent away', () => consumer.output().length > refusals);
        database.heal();
        gateway.heal();
        await until('it has all', () => printed(consumer).length > index);
        expect(printed(consumer)).toEqual(upTo(index + 1));
      }
    },
    120_000,
  );

  it('D2 continue with a snapshot when their cursor is not of this log', async () => {
    await api.given.agent({ agentId: 'b-1' });
    const consumer = examples.program('consumer.js', { AFTER: '1000000' });
    await until('it has the snapshot', () => consumer.output().includes('snapshot of 1 agents\n'));
    await tell(api, joined('a-2'));
    await until('it goes on', () => printed(consumer).length > 0);
    expect(printed(consumer)).toEqual(['2 agent.joined a-2']);
  });
});
