import { emptyDatabase } from '#rollcall/platform/testing';
import { startPostgres } from './support/postgres.js';
import { type Server, startRollcall } from './support/servers.js';

/**
 * Registrations, updates and batches of registrations over HTTP, each with its event: `npm run bench:registration`.
 * Prints how many agents per second; fails when the batch route registers fewer than its target.
 */
const CALLERS = 32;
const ROUNDS = 5;
const ROUND_MS = 2_000;
const BATCH = 500;
const BATCH_CALLERS = 2;
const BATCH_TARGET = 5_000;

type Send = () => Promise<number>;

let sequence = 0;
const agent = (): object => ({ agentId: `bench-${sequence++}`, name: 'bench', capabilities: ['build', 'test'] });

async function post(server: Server, method: string, path: string, body: object, key?: string): Promise<Response> {
  const headers = {
    ...server.headers,
    'content-type': 'application/json',
    ...(key && { authorization: `Bearer ${key}` }),
  };
  const response = await fetch(server.url + path, { method, headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response;
}

function registering(server: Server): Send {
  return async () => {
    await (await post(server, 'POST', '/v1/agents', agent())).arrayBuffer();
    return 1;
  };
}

function registeringBatches(server: Server): Send {
  return async () => {
    const response = await post(server, 'POST', '/v1/agents/batch', { agents: Array.from({ length: BATCH }, agent) });
    const { results } = (await response.json()) as { results: { status: number }[] };
    return results.filter(({ status }) => status === 201).length;
  };
}

/** Each caller changes an agent of its own. */
async function updating(server: Server): Promise<Send[]> {
  const callers = Array.from({ length: CALLERS }, async () => {
    const response = await post(server, 'POST', '/v1/agents', agent());
    const { agentId, leaseToken } = (await response.json()) as { agentId: string; leaseToken: string };
    return async (): Promise<number> => {
      const body = { generation: 1, version: String(sequence++) };
      await (await post(server, 'PATCH', `/v1/agents/${agentId}`, body, leaseToken)).arrayBuffer();
      return 1;
    };
  });
  return await Promise.all(callers);
}

async function perSecond(callers: readonly Send[]): Promise<number> {
  const started = performance.now();
  const run = async (send: Send): Promise<number> => {
    let done = 0;
    while (performance.now() < started + ROUND_MS) done += await send();
    return done;
  };
  const counts = await Promise.all(callers.map(run));
  return (counts.reduce((sum, count) => sum + count, 0) * 1_000) / (performance.now() - started);
}

async function measure(what: string, callers: readonly Send[]): Promise<number> {
  const rates: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) rates.push(await perSecond(callers));
  const median = rates.slice(1).toSorted((one, other) => one - other)[Math.floor(ROUNDS / 2)] ?? 0; // the first warms up
  console.log(`  ${what.padEnd(44)} ${Math.round(median).toLocaleString('en').padStart(8)} /s`);
  return median;
}

const postgres = await startPostgres();
const server = await startRollcall({ DATABASE_URL: await emptyDatabase(), ROLLCALL_QUOTA_AGENTS: '0' });
try {
  const times = (count: number, send: Send): Send[] => Array.from({ length: count }, () => send);
  await measure(`registrations, ${CALLERS} callers`, times(CALLERS, registering(server)));
  await measure(`updates, ${CALLERS} callers`, await updating(server));
  const what = `batches of ${BATCH}, ${BATCH_CALLERS} callers (target ${BATCH_TARGET.toLocaleString('en')})`;
  if ((await measure(what, times(BATCH_CALLERS, registeringBatches(server)))) < BATCH_TARGET) process.exitCode = 1;
} finally {
  await server.stop();
  await postgres.stop();
}
