/**
 * Starts short runs through REST, A2A and MCP on two replicas behind a proxy that alternates between them, and measures how long after the end
 * of its run each caller gets the answer. A caller may wait on another replica than the replica that executes its run. Fails when an answer
 * arrives more than 300 ms after the end of the run.
 * `node wait-storm.js <runs through each protocol> <concurrent callers> --one-executor`
 * With `--one-executor`, only one replica executes runs, so about half of the answers must be announced to the other one.
 */
import { randomBytes } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { testDatabase } from '#rollcall/platform/testing';
import { RoundRobin } from '#rollcall/test-support';
import { quantile } from './support/compare.js';
import { startPostgres } from './support/postgres.js';
import { a2aCalls, type CallAgent, fastestRestCalls, mcpCalls, restCalls } from './support/protocols/callers.js';
import { LONG_TIMEOUTS, startRollcall } from './support/servers.js';

const { values: options, positionals } = parseArgs({
  options: { 'one-executor': { type: 'boolean', default: false } },
  allowPositionals: true,
});
const [RUNS = 1_500, CALLERS = 8] = positionals.map(Number);
const LIMIT_MS = 300;
const MS = 1e6;

interface Edge {
  readonly name: string;
  readonly call: CallAgent;
  /** The id of the run in the body of the response. */
  runIn(body: string): string;
}

interface Answer {
  readonly runId: string;
  readonly atMs: number;
  readonly tookMs: number;
}

const runOfRest = (body: string): string => (JSON.parse(body) as { id: string }).id;

/** The edges behind the proxy. On a server without waiting in `POST /v1/runs`, REST has only one edge. */
async function edges(): Promise<Edge[]> {
  const at = { url: proxy.url, headers: one.headers, input: 'Hello.', expected: 'You said: Hello.' };
  const twoRequests: Edge = { name: 'REST, POST, then GET ?waitMs', call: restCalls(at, 'echo'), runIn: runOfRest };
  const fastest = await fastestRestCalls(at, 'echo');
  const rest: Edge = { name: `REST, ${fastest.name}`, call: fastest.call, runIn: runOfRest };
  return [
    rest,
    ...(rest.name === twoRequests.name ? [] : [twoRequests]),
    {
      name: 'A2A SendMessage',
      call: a2aCalls({ ...at, url: `${at.url}/a2a/agents/echo` }),
      runIn: (body) => (JSON.parse(body) as { result: { task: { id: string } } }).result.task.id,
    },
    {
      name: 'MCP run_agent',
      call: mcpCalls(at, 'echo'),
      runIn: (body) => {
        const { result } = JSON.parse(body) as { result: { structuredContent: { runId: string } } };
        return result.structuredContent.runId;
      },
    },
  ];
}

/** Times of this process and of Postgres can be compared, because both run on this machine. */
async function callAgents({ call, runIn }: Edge): Promise<Answer[]> {
  const answers: Answer[] = [];
  let begun = 0;
  const work = async (): Promise<void> => {
    while (begun < RUNS) {
      begun += 1;
      const from = performance.now();
      const body = await call();
      answers.push({ runId: runIn(body), atMs: Date.now(), tookMs: performance.now() - from });
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, work));
  return answers;
}

/** For each answer, the milliseconds from the stored end of its run. */
async function latenessOf(answers: readonly Answer[]): Promise<number[]> {
  const rows = await database.db.query<{ id: string; finishedAt: Date }>(
    'SELECT id, finished_at AS "finishedAt" FROM run WHERE id = ANY ($1) AND finished_at IS NOT NULL',
    [answers.map(({ runId }) => runId)],
  );
  const ends = new Map(rows.map(({ id, finishedAt }) => [id, finishedAt.getTime()]));
  if (ends.size !== answers.length)
    throw new Error(`only ${ends.size} of ${answers.length} answered runs have a stored end`);
  return answers.map(({ runId, atMs }) => atMs - (ends.get(runId) ?? 0));
}

function percentiles(values: readonly number[]): string {
  const shown = [0.5, 0.99, 0.999].map((share) => `p${share * 100} ${Math.round(quantile(values, share))} ms`);
  return `${shown.join(', ')}, max ${Math.round(Math.max(...values))} ms`;
}

/** Returns how many answers were late. */
async function storm(edge: Edge): Promise<number> {
  const clientDelay = monitorEventLoopDelay({ resolution: 10 });
  clientDelay.enable();
  const answers = await callAgents(edge);
  clientDelay.disable();
  const lateness = await latenessOf(answers);
  const late = lateness.filter((ms) => ms > LIMIT_MS).length;
  console.log(`\n${edge.name}: ${answers.length} runs, ${CALLERS} callers`);
  console.log(`  from the end of the run to the answer: ${percentiles(lateness)}`);
  console.log(`  from the request to the answer: ${percentiles(answers.map(({ tookMs }) => tookMs))}`);
  console.log(`  longest delay of the client itself: ${Math.round(clientDelay.max / MS)} ms`);
  console.log(
    `  target: ${edge.name}: answers more than ${LIMIT_MS} ms after the end  wanted 0  measured ${late}  ${late === 0 ? 'met' : 'MISSED'}`,
  );
  return late;
}

const postgres = await startPostgres();
const database = await testDatabase();
const environment = {
  ...LONG_TIMEOUTS,
  DATABASE_URL: database.url,
  ROLLCALL_ADMIN_KEY: randomBytes(32).toString('hex'),
};
const one = await startRollcall(environment);
const other = await startRollcall({ ...environment, ...(options['one-executor'] && { ROLLCALL_RUNS_MAX: '0' }) });
const proxy = await RoundRobin.start();
proxy.targets = [one.url, other.url];
try {
  const model = { vendor: 'scripted', model: 'echo' };
  const content = { description: 'Answers.', instructions: 'Echo.', tools: [], model };
  const response = await fetch(`${one.url}/v1/definitions`, {
    method: 'POST',
    headers: { ...one.headers, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'echo', content }),
  });
  if (response.status !== 201) throw new Error(await response.text());
  const late: number[] = [];
  for (const edge of await edges()) late.push(await storm(edge));
  if (late.some((count) => count > 0)) process.exitCode = 1;
} finally {
  await proxy.stop();
  await Promise.all([one.stop(), other.stop()]);
  await database.drop();
  await postgres.stop();
}
