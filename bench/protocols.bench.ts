import { loadavg } from 'node:os';
import { emptyDatabase } from '#rollcall/platform/testing';
import { buildCommit, hasCommit } from './support/built.commit.js';
import { compareRunners, print, ratioOf, type Runner } from './support/compare.js';
import { startPostgres } from './support/postgres.js';
import {
  a2aCalls,
  busyLoad,
  type CallAgent,
  type Endpoint,
  fastestRestCalls,
  mcpCalls,
  pacedLoad,
  type RestCalls,
} from './support/protocols/callers.js';
import { LONG_TIMEOUTS, type Server, startRollcall } from './support/servers.js';
import { databaseSettings, installedPeers, SideProcess } from './support/side.process.js';
import { TargetTable } from './support/target.js';
import { WorkerProcess } from './support/worker.process.js';

/**
 * Measures calls of agents over HTTP. The sides of each comparison alternate in the same rounds, on one Postgres.
 *
 * 1. SendMessage of A2A and the tool `run_agent` of MCP, compared with REST, for an agent that answers at once: 64 connections.
 * 2. `POST /v1/runs?waitMs=30000` of this tree, compared with the commit before runs had one writer: 32 connections.
 * 3. The same request, one at a time, compared with a DBOS workflow with one step, which is called without HTTP.
 * 4. The latency that Rollcall adds to a remote A2A agent: one message at a time, and 32 messages per second.
 */
const BEFORE = '1a688103';
const CONNECTIONS = 64;
const CONNECTIONS_AGAINST = 32;
/** Each of the 64 connections sends one message in this time: 32 messages per second. */
const EVERY_MS = 2_000;
const POOL_SIZE = 20;
/** `npm run bench:protocols -- 2` has rounds of two seconds. */
const ROUND_S = Number(process.argv[2] ?? 5);
const ROUNDS = { rounds: 5, seconds: ROUND_S, afterWarmUp: async (): Promise<void> => await postgres.analyze() };
const SETTINGS = {
  ...LONG_TIMEOUTS,
  ROLLCALL_EGRESS_ALLOW: '127.0.0.1',
  ROLLCALL_RUNS_MAX: String(2 * CONNECTIONS), // one agent may use half of the places
};
const ECHO = { instructions: 'Echo.', model: { vendor: 'scripted', model: 'echo' }, tools: [] };

async function define({ url, headers }: Server, name: string, content: object): Promise<void> {
  const body = JSON.stringify({ name, content: { description: 'Answers.', ...content } });
  const json = { ...headers, 'content-type': 'application/json' };
  const response = await fetch(`${url}/v1/definitions`, { method: 'POST', headers: json, body });
  if (response.status !== 201) throw new Error(await response.text());
}

const echoAt = ({ url, headers }: Server): Endpoint => ({
  url,
  headers,
  input: 'Hello.',
  expected: 'You said: Hello.',
});

const busy = (name: string, call: CallAgent, connections: number): Runner => ({
  name,
  run: async (seconds) => await busyLoad(call, connections, seconds),
});
const paced = (name: string, call: CallAgent): Runner => ({
  name,
  run: async (seconds) => await pacedLoad(call, CONNECTIONS, { seconds, everyMs: EVERY_MS }),
});

async function compareEdges(ours: RestCalls): Promise<void> {
  const at = echoAt(rollcall);
  const [rest, a2a, mcp] = await compareRunners(
    [
      busy(`REST, ${ours.name}`, ours.call, CONNECTIONS),
      busy('A2A SendMessage', a2aCalls({ ...at, url: `${at.url}/a2a/agents/echo` }), CONNECTIONS),
      busy('MCP run_agent', mcpCalls(at, 'echo'), CONNECTIONS),
    ],
    ROUNDS,
  );
  if (!rest || !a2a || !mcp) throw new Error('a side has no score');
  print(`an agent that answers at once, ${CONNECTIONS} connections`, [rest, a2a, mcp]);
  targets.atLeast('A2A SendMessage / REST', 0.7, ratioOf(a2a, rest));
  targets.atLeast('MCP run_agent / REST', 0.7, ratioOf(mcp, rest));
}

/**
 * The commit has no waiting in POST, so its side sends two requests: POST, and then GET with waiting. Both sides have a new server and a new
 * database, because the server of the other comparisons already has many runs.
 */
async function compareWithCommit(): Promise<void> {
  if (!hasCommit(BEFORE)) {
    console.log(
      `\nthis clone does not contain the commit ${BEFORE} (git fetch --unshallow): the comparison with it is skipped`,
    );
    return;
  }
  const commit = buildCommit(BEFORE);
  const started: Server[] = [];
  const side = async (name: string, dist?: string): Promise<Runner> => {
    const server = await startRollcall({ DATABASE_URL: await emptyDatabase(), ...SETTINGS }, { dist });
    started.push(server);
    await define(server, 'echo', ECHO);
    const rest = await fastestRestCalls(echoAt(server), 'echo');
    return busy(`${name}, ${rest.name}`, rest.call, CONNECTIONS_AGAINST);
  };
  try {
    const [thisTree, before] = await compareRunners([await side('this tree'), await side(BEFORE, commit.dist)], ROUNDS);
    if (!thisTree || !before) throw new Error('a side has no score');
    print(`a run over REST, ${CONNECTIONS_AGAINST} connections`, [thisTree, before]);
    const what = `a run over REST, ${CONNECTIONS_AGAINST} connections: this tree / ${BEFORE}`;
    targets.atLeast(what, 2.5, ratioOf(thisTree, before));
  } finally {
    await Promise.all(started.map(async (server) => await server.stop()));
    commit.remove();
  }
}

async function compareAlone(ours: RestCalls): Promise<void> {
  const peers = installedPeers();
  if (!peers) return;
  const settings = databaseSettings(await emptyDatabase(), POOL_SIZE);
  const dbos = new SideProcess('DBOS, workflow with one step, no HTTP', new URL('dbos.mjs', peers), settings);
  try {
    const sides = [busy(`REST, ${ours.name}`, ours.call, 1), dbos.with({ calls: 0, concurrent: 1 })];
    const [rest, workflow] = await compareRunners(sides, ROUNDS);
    if (!rest || !workflow) throw new Error('a side has no score');
    print('a run with one model call, one at a time', [rest, workflow]);
    targets.atMost('a run over REST, alone: p50 / p50 of DBOS', 2, rest.p50 / workflow.p50);
  } finally {
    dbos.stop();
  }
}

async function compareRemote(): Promise<void> {
  const remoteUrl = await remote.ask<string>('url');
  await define(rollcall, 'remote', { provider: 'a2a', settings: { url: remoteUrl } });
  const at = { input: JSON.stringify({ does: 'answer', pieces: ['done'] }), expected: '"done"' };
  const direct = a2aCalls({ ...at, url: `${remoteUrl}/rpc`, headers: {} });
  const { url, headers } = rollcall;
  const proxied = a2aCalls({ ...at, url: `${url}/a2a/agents/remote`, headers });
  const rate = Math.round((CONNECTIONS * 1_000) / EVERY_MS);
  const measured = [
    {
      load: 'one message at a time',
      maxMs: 12,
      sides: [busy('called directly', direct, 1), busy('through Rollcall', proxied, 1)],
    },
    {
      load: `${rate} messages/s`,
      maxMs: 25,
      sides: [paced('called directly', direct), paced('through Rollcall', proxied)],
    },
  ];
  for (const { load, maxMs, sides } of measured) {
    const scores = await compareRunners(sides, ROUNDS);
    print(`a remote A2A agent, ${load}`, scores);
    const [one = 0, other = 0] = scores.map(({ p50 }) => p50);
    targets.atMost(`a remote A2A agent, ${load}: p50 that Rollcall adds`, maxMs, other - one, ' ms');
  }
}

const targets = new TargetTable();
const postgres = await startPostgres();
const rollcall = await startRollcall({ DATABASE_URL: postgres.url, ...SETTINGS });
const remote = new WorkerProcess(new URL('./support/protocols/remote.process.js', import.meta.url));
try {
  await define(rollcall, 'echo', ECHO);
  const ours = await fastestRestCalls(echoAt(rollcall), 'echo');
  await compareEdges(ours);
  await compareWithCommit();
  await compareAlone(ours);
  await compareRemote();
  targets.print();
  const load = loadavg().map((one) => one.toFixed(1));
  console.log(`\nload of the machine in the last 1, 5 and 15 minutes: ${load.join(', ')}`);
} finally {
  remote.stop();
  await rollcall.stop();
  await postgres.stop();
}
