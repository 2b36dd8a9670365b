import { SchedulerRegistry } from '@nestjs/schedule';
import { CountingProxy, type DatabaseTraffic, testDatabase } from '#rollcall/platform/testing';
import { startApi, type TestApi } from '../support/api.js';
import { type FlowName, RunFlows } from '../support/run-flows.js';

interface Limit {
  /** One after the other, from the first request to the response with the result. */
  roundTrips: number;
  commits: number;
}

/** A change may lower these numbers. If it must raise one, its commit message states the reason. */
const LIMITS: Record<FlowName, Limit> = {
  oneModelCall: { roundTrips: 8, commits: 3 },
  oneToolCall: { roundTrips: 10, commits: 5 },
  delegatedRun: { roundTrips: 24, commits: 9 },
  externalAgent: { roundTrips: 9, commits: 3 }, // two of them read whether the name means a definition: for the address and for the run (S-1)
};

/** The statements of work that no run waits for. The periodic passes are stopped instead, because they read the same tables. */
const BACKGROUND = [
  /SELECT pg_advisory_xact_lock\(hashtext\(\$1\)\)/, // the sequencer of events, which moves them from event_staging to the log
  /\b(DELETE|SELECT 1) FROM event_staging\b/,
  /\bFROM event_counter\b/, // the readers of the event log
  /^SELECT pg_notify\(\$1, payload\)/, // messages between replicas about runs
  /\bUPDATE run SET lease_until\b/, // the leases of runs
  /\b(FROM|UPDATE) (contract|contract_notice|event_sink)\b/,
  /\bUPDATE runtime_command\b/,
  /\bFROM api_key\b/, // the credential of a request is read at most once in a second
  /^SELECT 1$/, // the check of the listener connection
];
/** Much longer than the pauses of a run, so that round trips beside the run overlap with its round trips. */
const RESPONSE_DELAY_MS = 20;
/** A claim of runs that begins before the start of the run delays the run. This happens every two seconds. */
const MAX_COUNTS = 3;

let proxy: CountingProxy;
let api: TestApi;
let flows: RunFlows;
beforeAll(async () => {
  const database = await testDatabase();
  proxy = await CountingProxy.start(database.url, RESPONSE_DELAY_MS);
  api = await startApi(RunFlows.SETTINGS, { database: { ...database, url: proxy.url } });
  flows = await RunFlows.prepare(api);
  const scheduler = api.app.nest.get(SchedulerRegistry, { strict: false });
  for (const name of scheduler.getIntervals()) scheduler.deleteInterval(name);
});
afterAll(async () => {
  await flows.stop();
  await api.stop();
  proxy.stop();
});

/** Repeats a flow that exceeds its limits, because background work can delay it. Returns the last count. */
async function trafficOf(flow: FlowName): Promise<DatabaseTraffic> {
  await flows[flow](); // fills the caches
  for (let counts = 1; ; counts++) {
    const traffic = (await proxy.count(async () => await flows[flow]())).without(BACKGROUND);
    if (isWithin(traffic, LIMITS[flow]) || counts === MAX_COUNTS) return traffic;
  }
}

function isWithin({ roundTripsInSequence, commits }: DatabaseTraffic, limit: Limit): boolean {
  return roundTripsInSequence <= limit.roundTrips && commits <= limit.commits;
}

/** The error lists all statements in order, so that the added statement can be found. */
function expectWithin(traffic: DatabaseTraffic, limit: Limit): void {
  const { roundTripsInSequence, commits } = traffic;
  if (isWithin(traffic, limit)) return;
  throw new Error(
    `${roundTripsInSequence} round trips and ${commits} commits, but at most ${limit.roundTrips} and ${limit.commits} are allowed:\n${traffic.toString()}`,
  );
}

describe('the round trips and commits of a run, from the request to the result', () => {
  it.each<[FlowName, string]>([
    ['oneModelCall', 'a run with one model call'],
    ['oneToolCall', 'a run with one tool call and two model calls'],
    ['delegatedRun', 'a run that delegates to a definition'],
    ['externalAgent', 'an A2A message to an external agent'],
  ])('R-1 %s: %s stays within its limits', async (flow) => {
    expectWithin(await trafficOf(flow), LIMITS[flow]);
  });

  it('R-3 a start that waits for its run reads nothing: its last round trip is the COMMIT with the announcement of the end', async () => {
    const body = { definition: 'answerer', input: 'Begin.' };
    const wait = async (): Promise<unknown> => await api.call('POST', '/v1/runs?waitMs=20000', { body });
    const texts: string[] = [];
    for (let counts = 0; counts < MAX_COUNTS; counts++)
      texts.push((await proxy.count(wait)).without(BACKGROUND).toString().trimEnd());
    expect(texts.join('\n')).not.toContain('runs-find');
    const last = /runs-announce[^\n]*(?:\n {7,}\d+ ms[^\n]*)*COMMIT[^\n]*$/; // only the first line of a round trip has a number
    expect(texts.some((text) => last.test(text))).toBe(true);
  });
});
