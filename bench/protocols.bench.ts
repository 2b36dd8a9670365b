import { compareRunners, print, type Runner } from './support/compare.js';
import { startPostgres } from './support/postgres.js';
import { a2aCalls, busyLoad, type CallAgent, mcpCalls, pacedLoad, restCalls } from './support/protocols/callers.js';
import { LONG_TIMEOUTS, startRollcall } from './support/servers.js';
import { requireAtMost, requireRatio } from './support/target.js';
import { WorkerProcess } from './support/worker.process.js';

/**
 * Compares SendMessage of A2A and the tool `run_agent` of MCP with `POST /v1/runs` and waiting, for an agent that answers at once. Then
 * measures the latency that Rollcall adds to a remote A2A agent, with 64 connections. All sides are measured in the same rounds.
 */
const MIN_RATIO = 0.7;
const MAX_ADDED_MS = 5;
const CONNECTIONS = 64;
/** Each connection sends one message in this time. */
const EVERY_MS = 2_000;
/** `npm run bench:protocols -- 2` has rounds of two seconds. */
const ROUND_S = Number(process.argv[2] ?? 5);
const ROUNDS = { rounds: 5, seconds: ROUND_S };

const postgres = await startPostgres();
const rollcall = await startRollcall({
  DATABASE_URL: postgres.url,
  ...LONG_TIMEOUTS,
  ROLLCALL_EGRESS_ALLOW: '127.0.0.1',
  ROLLCALL_RUNS_MAX: String(CONNECTIONS),
  ROLLCALL_RUNS_MAX_PER_AGENT: String(CONNECTIONS),
});
const remote = new WorkerProcess(new URL('./support/protocols/remote.process.js', import.meta.url));
const { url, headers } = rollcall;

async function define(name: string, content: object): Promise<void> {
  const body = JSON.stringify({ name, content: { description: 'Answers.', ...content } });
  const json = { ...headers, 'content-type': 'application/json' };
  const response = await fetch(`${url}/v1/definitions`, { method: 'POST', headers: json, body });
  if (response.status !== 201) throw new Error(await response.text());
}

const busy = (name: string, call: CallAgent): Runner => ({
  name,
  run: async (seconds) => await busyLoad(call, CONNECTIONS, seconds),
});
const paced = (name: string, call: CallAgent): Runner => ({
  name,
  run: async (seconds) => await pacedLoad(call, CONNECTIONS, { seconds, everyMs: EVERY_MS }),
});

async function compareEdges(): Promise<void> {
  await define('echo', { instructions: 'Echo.', model: { vendor: 'scripted', model: 'echo' }, tools: [] });
  const at = { url, headers, input: 'Hello.', expected: 'You said: Hello.' };
  const [rest, a2a, mcp] = await compareRunners(
    [
      busy('POST /v1/runs with waiting', restCalls(at, 'echo')),
      busy('A2A SendMessage', a2aCalls({ ...at, url: `${url}/a2a/agents/echo` })),
      busy('MCP run_agent', mcpCalls(at, 'echo')),
    ],
    ROUNDS,
  );
  print(
    `an agent that answers at once, ${CONNECTIONS} connections`,
    [rest, a2a, mcp].filter((one) => one !== undefined),
  );
  requireRatio(MIN_RATIO, a2a, rest);
  requireRatio(MIN_RATIO, mcp, rest);
}

async function compareLatencies(): Promise<void> {
  const remoteUrl = await remote.ask<string>('url');
  await define('remote', { provider: 'a2a', settings: { url: remoteUrl } });
  const at = { input: JSON.stringify({ does: 'answer', pieces: ['done'] }), expected: '"done"' };
  const direct = a2aCalls({ ...at, url: `${remoteUrl}/rpc`, headers: {} });
  const proxied = a2aCalls({ ...at, url: `${url}/a2a/agents/remote`, headers });
  const scores = await compareRunners([paced('called directly', direct), paced('through Rollcall', proxied)], ROUNDS);
  const rate = Math.round((CONNECTIONS * 1_000) / EVERY_MS);
  print(`a remote A2A agent, ${CONNECTIONS} connections, ${rate} messages/s`, scores);
  const [one, other] = scores.map(({ p50 }) => p50);
  requireAtMost(MAX_ADDED_MS, (other ?? 0) - (one ?? 0), 'ms that Rollcall adds (p50)');
}

try {
  await compareEdges();
  await compareLatencies();
} finally {
  remote.stop();
  await rollcall.stop();
  await postgres.stop();
}
