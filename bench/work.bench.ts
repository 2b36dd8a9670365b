import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import { WebSocket } from 'ws';
import { testDatabase } from '#rollcall/platform/testing';
import { startPostgres } from './support/postgres.js';
import { TargetTable } from './support/target.js';
import { StormReplicas } from './support/tasks/replicas.js';

/**
 * Measures runs of agents that take their tasks, on one replica and one Postgres with durable commits.
 *
 * 1. 64 callers start runs of 64 such agents, which answer at once over sockets, and wait for the results; then of a definition that Rollcall
 *    executes with a model without latency. The rounds alternate.
 * 2. One run at a time: the time from the request that starts the run to the frame at the agent.
 *
 * `npm run bench:work -- 2` has rounds of two seconds.
 */
const AGENTS = 64;
const ROUNDS = 5;
const ROUND_MS = Number(process.argv[2] ?? 5) * 1_000;
const ALONE = 300;
const WARM_UP = 200;
const KEY = randomBytes(32).toString('hex');

const postgres = await startPostgres();
const database = await testDatabase({ operationTimeoutMs: 60_000 });
const replicas = await StormReplicas.start(
  {
    DATABASE_URL: database.url,
    ROLLCALL_ADMIN_KEY: KEY,
    ROLLCALL_RATE_LIMIT: '0',
    ROLLCALL_CONCURRENT_REQUESTS: '0',
    ROLLCALL_CONCURRENT_STREAMS: '0',
    ROLLCALL_RUNS_MAX: '200',
    ROLLCALL_DATABASE_TIMEOUT: '10s', // a busy machine must not end the benchmark
  },
  1,
);
const url = await replicas.nextUrl();

async function post(path: string, body: object): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
  const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const answer = (await response.json()) as Record<string, unknown>;
  if (response.status >= 300) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`);
  return answer;
}

/** When the last task arrived at an agent. */
let arrivedAt = 0;

/** An agent that answers each task at once. */
async function startAgent(agentId: string): Promise<WebSocket> {
  const agent = { agentId, name: agentId, capabilities: ['bench'], work: 'pull', idempotent: true };
  const { generation } = await post('/v1/agents', agent);
  const path = `/v1/agents/ws?agentId=${agentId}&generation=${String(generation)}`;
  const socket = new WebSocket(url.replace('http', 'ws') + path, { headers: { authorization: `Bearer ${KEY}` } });
  const usage = { inputTokens: 1, outputTokens: 1 };
  socket.on('message', (text: Buffer) => {
    const { event, data } = JSON.parse(text.toString()) as { event: string; data: Record<string, unknown> };
    if (event === 'error') throw new Error(JSON.stringify(data));
    if (event !== 'task') return;
    arrivedAt = performance.now();
    socket.send(JSON.stringify({ event: 'result', data: { callId: data['callId'], text: 'done', usage } }));
    socket.send('{"event":"work","data":{"slots":1}}');
  });
  await once(socket, 'open');
  socket.send('{"event":"work","data":{"slots":4}}');
  return socket;
}

async function run(target: object): Promise<void> {
  const { state } = await post('/v1/runs?waitMs=30000', { ...target, input: 'Hello.' });
  if (state !== 'completed') throw new Error(`a run is ${String(state)}`);
}

/** Returns the runs per second of 64 callers. */
async function throughput(targetOf: (caller: number) => object): Promise<number> {
  const began = performance.now();
  const until = began + ROUND_MS;
  let completed = 0;
  const caller = async (index: number): Promise<void> => {
    for (; performance.now() < until; completed += 1) await run(targetOf(index));
  };
  await Promise.all(Array.from({ length: AGENTS }, async (_, index) => await caller(index)));
  return (completed * 1_000) / (performance.now() - began);
}

const medianOf = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

const beats = setInterval(() => {
  for (const socket of sockets) socket.send('{"event":"beat"}');
}, 5_000);
const sockets: WebSocket[] = [];
try {
  for (let index = 0; index < AGENTS; index += 1) sockets.push(await startAgent(`agent-${index}`));
  const content = { description: 'Echoes.', instructions: 'Echo.' };
  await post('/v1/definitions', { name: 'echo', content });
  const pulling = (caller: number): object => ({ agent: `agent-${caller}` });
  const inProcess = (): object => ({ definition: 'echo' });
  for (let index = 0; index < WARM_UP; index += 1) await Promise.all([run(pulling(index % AGENTS)), run(inProcess())]);
  const pulled: number[] = [];
  const own: number[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    pulled.push(await throughput(pulling));
    own.push(await throughput(inProcess));
    console.log(
      `round ${round}: ${pulled.at(-1)?.toFixed(0)} tasks/s of agents that pull, ${own.at(-1)?.toFixed(0)} runs/s in process`,
    );
  }
  const delays: number[] = [];
  for (let index = 0; index < ALONE; index += 1) {
    const from = performance.now();
    await run(pulling(index % AGENTS));
    delays.push(arrivedAt - from);
  }
  console.log(
    `\nmedian: ${medianOf(pulled).toFixed(0)} tasks/s of agents that pull, ${medianOf(own).toFixed(0)} runs/s in process`,
  );
  console.log(`from the start of a run to the frame at the agent, alone: p50 ${medianOf(delays).toFixed(1)} ms`);
  const targets = new TargetTable();
  targets.atLeast('64 agents that pull: tasks/s / runs/s in process', 0.8, medianOf(pulled) / medianOf(own));
  targets.atMost('from the start of a run to the frame at the agent, p50', 15, medianOf(delays), ' ms');
  targets.print();
  console.log(
    `\nload of the machine in the last 1, 5 and 15 minutes: ${loadavg()
      .map((load) => load.toFixed(1))
      .join(', ')}`,
  );
} finally {
  clearInterval(beats);
  for (const socket of sockets) socket.terminate();
  await replicas.stop();
  await database.drop();
  await postgres.stop();
}
