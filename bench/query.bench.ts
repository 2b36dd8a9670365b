import { Database } from '#rollcall/platform';
import { CLOSED_CIRCUIT, NEVER_FLAPPED } from '#rollcall/registry';
import { compare, print } from './support/compare.js';
import type { Load } from './support/load.js';
import { startPostgres } from './support/postgres.js';
import { startBare, startRollcall, startSqlQuery, type Server } from './support/servers.js';

/**
 * "The ten cheapest that can do this" on the real route, at two sizes of fleet, beside the same question asked of Postgres
 * with a GIN index, and beside a NestJS route that does nothing. 200 capabilities, each agent claims three, every connection
 * asks for all of them in turn.
 */
const CAPABILITIES = 200;
const CONNECTIONS = 64;

/** Straight into the tables: what is measured is asking, not joining. */
async function fill(url: string, agents: number): Promise<void> {
  const db = new Database({ url, poolSize: 1, operationTimeoutMs: 120_000 });
  const skill = (factor: number): string => `'area.skill-' || (g * ${factor} + g / 7) % ${CAPABILITIES}`;
  const claims = `${skill(1)}, ${skill(17)}, ${skill(39)}`;
  await db.query(
    `INSERT INTO agent (agent_id, generation, revision, token_hash, name, endpoint, agent_card, capabilities,
       capability_keys, sandbox_level, provider, cost_model, labels, version, capacity, budget_total, budget_used, budget_source, circuit, flap,
       registered_at, registered_by)
     SELECT 'agent-' || g, 1, 1, 'hash-' || g, 'worker ' || g, 'http://10.0.0.1:' || 1024 + g % 60000,
       jsonb_build_object('protocolVersion', '1.0', 'description', 'Agent number ' || g),
       ARRAY[${claims}], ARRAY['area', ${claims}], g % 4, '{"adapter":"copilot","type":"api","plan":null}',
       jsonb_build_object('usdPerTask', null, 'usdPer1kTokens', (g * 7919 % 100003) / 1e6), '{"zone":"eu"}', '1.0.0', 8,
       NULL, 1000, 'reported', $2, $3, clock_timestamp(), 'bench'
     FROM generate_series(1, $1::int) g`,
    [agents, JSON.stringify(CLOSED_CIRCUIT), JSON.stringify(NEVER_FLAPPED)],
  );
  await db.query(
    `INSERT INTO agent_lease (agent_id, generation, token_hash, last_beat_at)
     SELECT agent_id, generation, token_hash, clock_timestamp() FROM agent`,
  );
  await db.query(
    `INSERT INTO budget (kind, subject, window_kind, time_zone, path, limit_tokens, used_tokens, own_tokens, window_start,
       source, declared, created_by)
     SELECT 'agent', agent_id, 'total', 'UTC', '{}', budget_total, budget_used, budget_used, clock_timestamp(),
       budget_source, true, registered_by FROM agent`,
  );
  await db.query('VACUUM ANALYZE agent');
  await db.query('VACUUM ANALYZE budget');
  await db.query('VACUUM ANALYZE agent_lease');
  await db.close();
}

function questions({ url, headers }: Server, path: string): Load {
  const requests = Array.from({ length: CAPABILITIES }, (_, skill) => ({
    path,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ capabilities: [`area.skill-${skill}`], prefer: 'cheapest', limit: 10 }),
  }));
  const requestsOf = (connection: number): typeof requests => {
    const from = (connection * 3) % CAPABILITIES;
    return [...requests.slice(from), ...requests.slice(0, from)];
  };
  return { url, requestsOf };
}

/** The least of some scrapes: what is there between two collections of garbage does not count. */
async function heapUsed({ url, headers }: Server): Promise<number> {
  let least = Infinity;
  for (let scrape = 0; scrape < 20; scrape++) {
    const text = await (await fetch(`${url}/metrics`, { headers })).text();
    least = Math.min(least, Number(/^rollcall_nodejs_heap_size_used_bytes (\S+)/m.exec(text)?.[1]));
  }
  return least;
}

async function answerOf({ url, headers }: Server): Promise<string> {
  const answer = await fetch(`${url}/v1/agents/query`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: '{"capabilities":["area.skill-1"],"limit":10}',
  });
  const text = await answer.text();
  if ((JSON.parse(text) as { candidates: unknown[] }).candidates.length !== 10) throw new Error(`not ten: ${text}`);
  return text;
}

async function measure(agents: number, emptyHeap: number): Promise<void> {
  const postgres = await startPostgres();
  await fill(postgres.url, agents);
  const environment = { DATABASE_URL: postgres.url, ROLLCALL_HEARTBEAT_EVERY: '1h' };
  const [bare, sql, rollcall] = [
    await startBare(),
    await startSqlQuery(postgres.url),
    await startRollcall(environment),
  ];
  try {
    const { length } = await answerOf(rollcall);
    const scores = await compare(
      [
        { name: 'bare NestJS + Fastify, POST that does nothing', load: questions(bare, '/noop') },
        { name: 'the same question in SQL, with a GIN index', load: questions(sql, '/query') },
        { name: 'Rollcall', load: questions(rollcall, '/v1/agents/query') },
      ],
      CONNECTIONS,
    );
    print(`${agents} agents, ${CONNECTIONS} connections, answers of ${length} bytes`, scores);
    const [, inSql = 0, ours = 0] = scores.map(({ perSecond }) => perSecond);
    const perAgent = Math.round(((await heapUsed(rollcall)) - emptyHeap) / agents);
    console.log(`  Rollcall does ${(ours / inSql).toFixed(1)}× of the SQL; ${perAgent} bytes of heap for each agent`);
  } finally {
    await Promise.all([bare.stop(), sql.stop(), rollcall.stop()]);
    await postgres.stop();
  }
}

const empty = await startRollcall();
const emptyHeap = await heapUsed(empty);
await empty.stop();
for (const agents of [10_000, 100_000]) await measure(agents, emptyHeap);
