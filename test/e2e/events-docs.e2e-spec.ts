import { CuttableProxy, proxyPostgres } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { SHORT_DATABASE_TIMEOUT, startApi, type TestApi } from '../support/api.js';
import { exampleOf, ExampleRunner, type RunningExample } from '../support/doc-example.js';
import { joined, left, appendEvents } from '../support/events.js';

const TRANSPORTS = ['websocket', 'sse', 'rest'];

let api: TestApi;
let replica: TestApi;
let examples: ExampleRunner;
let database: CuttableProxy;
let proxy: CuttableProxy;

/** Consumers connect to a replica through one proxy, and the replica connects to its database through another. */
async function setUp(): Promise<void> {
  api = await startApi(SHORT_DATABASE_TIMEOUT);
  const proxied = await proxyPostgres(api.database.url);
  database = proxied.proxy;
  replica = await api.replica({}, { databaseUrl: proxied.url });
  proxy = await CuttableProxy.start({ host: '127.0.0.1', port: Number(new URL(replica.url).port) });
  examples = new ExampleRunner({ ROLLCALL_URL: `http://127.0.0.1:${proxy.port}`, ROLLCALL_KEY: api.adminKey });
}
async function tearDown(): Promise<void> {
  examples.stop();
  database.heal();
  await proxy.stop();
  await replica.stop();
  await api.stop();
  await database.stop();
}

/** Returns the events that the consumer printed, without its error messages. */
const printed = (consumer: RunningExample): string[] =>
  consumer.output().match(/^\d+ dev\.rollcall\.agent\.\w+ .+$/gm) ?? [];

const upTo = (last: number): string[] =>
  Array.from({ length: last }, (_, n) => `${n + 1} dev.rollcall.agent.joined a-${n + 1}`);

describe('the consumers of docs/events.md', () => {
  beforeEach(setUp);
  afterEach(tearDown);

  it('B3 the consumers print past and new events', async () => {
    await appendEvents(api, joined('early'));
    const node = examples.program('consumer.js');
    const curl = examples.shell(exampleOf('events.md', 'sh'));
    await until('node prints the first event', () => node.output() === '1 dev.rollcall.agent.joined early\n');
    await until('curl prints the first event', () => /^id: 1-[0-9a-f]{8}\nevent: agent.joined\n/m.test(curl.output()));
    await appendEvents(api, left('early'));
    await until(
      'node prints the second event',
      () => node.output() === '1 dev.rollcall.agent.joined early\n2 dev.rollcall.agent.left early\n',
    );
    await until('curl prints the second event', () => /^id: 2-[0-9a-f]{8}\nevent: agent.left\n/m.test(curl.output()));
    expect(curl.output()).toContain('"type":"dev.rollcall.agent.left","subject":"early"');
  });

  it('D2 the consumers continue with a snapshot when their cursor belongs to another log', async () => {
    await api.given.agent({ agentId: 'b-1' });
    const consumer = examples.program('consumer.js', { AFTER: '1000000' });
    await until('the snapshot is read', () => consumer.output().includes('snapshot of 1 agents\n'));
    await appendEvents(api, joined('a-2'));
    await until('the next event is printed', () => printed(consumer).length > 0);
    expect(printed(consumer)).toEqual(['2 dev.rollcall.agent.joined a-2']);
  });
});

describe('the consumers of docs/events.md, while the database and the proxy fail', () => {
  /** What the consumer of each transport had printed after each fault. */
  const printedBy = new Map<string, string[][]>(TRANSPORTS.map((transport) => [transport, []]));

  beforeAll(async () => {
    await setUp();
    database.cut();
    const consumers = TRANSPORTS.map((TRANSPORT) => examples.program('consumer.js', { TRANSPORT }));
    const all = (isTrue: (consumer: RunningExample, index: number) => boolean) => (): boolean =>
      consumers.every(isTrue);
    await until(
      'the requests are rejected',
      all((consumer) => consumer.output().includes('no events: DATABASE_UNAVAILABLE')),
    );
    database.heal();
    for (const [index, fault] of ['none', 'database', 'proxy', 'database'].entries()) {
      if (fault === 'database') database.cut();
      if (fault === 'proxy') proxy.cut();
      await appendEvents(api, joined(`a-${index + 1}`));
      const before = consumers.map((consumer) => consumer.output().length);
      const isDisconnected = all((consumer, which) => consumer.output().length > (before[which] ?? 0));
      if (index === 3) await until('the consumers are disconnected', isDisconnected);
      database.heal();
      proxy.heal();
      await until(
        'all events are printed',
        all((consumer) => printed(consumer).length > index),
      );
      for (const [which, transport] of TRANSPORTS.entries()) printedBy.get(transport)?.push(printed(consumers[which]));
    }
  }, 120_000);
  afterAll(tearDown);

  it.each(TRANSPORTS)('D2 the consumers resume after failures of the database and of the proxy (%s)', (transport) => {
    expect(printedBy.get(transport)).toEqual([1, 2, 3, 4].map(upTo));
  });
});
