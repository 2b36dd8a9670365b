import { Database } from '#rollcall/platform';
import { CLOSED_CIRCUIT, NEVER_FLAPPED } from '#rollcall/registry';

export const CAPABILITIES = 200;
export const ZONES = ['eu', 'us', 'ap'] as const;
export const TIERS = ['gold', 'silver', 'basic'] as const;
const CAPACITY = 8;
const TOKEN_LENGTH = 43;

/** Agents are numbered from 1. */
export const agentIdOf = (number: number): string => `agent-${number}`;

export function leaseTokenOf(number: number): string {
  return `rl_${String(number).padStart(TOKEN_LENGTH, '0')}`;
}

/** There are 200 prices, so that many agents cost the same and the load decides between them. */
export const priceOf = (number: number): number => (number % 200) / 10_000;

const TOKEN_HASH = `rtrim(translate(encode(sha256(convert_to('rl_' || lpad(g::text, ${TOKEN_LENGTH}, '0'), 'UTF8')),
  'base64'), '+/', '-_'), '=')`;
const skill = (factor: number): string => `'area.skill-' || (g * ${factor} + g / 7) % ${CAPABILITIES}`;
const CLAIMS = [skill(1), skill(17), skill(39)].join(', ');
const oneOf = (words: readonly string[], by: number): string =>
  `(ARRAY['${words.join("','")}'])[1 + g / ${by} % ${words.length}]`;

const AGENTS = `INSERT INTO agent (agent_id, generation, revision, token_hash, name, endpoint, agent_card, capabilities,
    capability_keys, sandbox_level, provider, cost_model, labels, version, capacity, declared_ms, budget_total, budget_used,
    budget_source, flap, registered_at, registered_by)
  SELECT 'agent-' || g, 1, 1, ${TOKEN_HASH}, 'worker ' || g, 'http://10.0.0.1:' || 1024 + g % 60000,
    jsonb_build_object('protocolVersion', '1.0', 'description', 'Agent number ' || g),
    ARRAY[${CLAIMS}], ARRAY['area', ${CLAIMS}], g % 4, '{"adapter":"copilot","type":"api","plan":null}',
    jsonb_build_object('usdPerTask', null, 'usdPer1kTokens', (g * 7919 % 200) / 1e4),
    jsonb_build_object('zone', ${oneOf(ZONES, 3)}, 'tier', ${oneOf(TIERS, 11)}), '1.0.0', ${CAPACITY}, 50 + g % 400,
    NULL, 1000, 'reported', $2, clock_timestamp(), 'bench'
  FROM generate_series(1, $1::int) g`;

const CIRCUITS = 'INSERT INTO agent_circuit (agent_id, state) SELECT agent_id, $1 FROM agent';

const LEASES = `INSERT INTO agent_lease (agent_id, generation, token_hash, last_beat_at)
  SELECT agent_id, generation, token_hash, clock_timestamp() FROM agent`;

const BUDGETS = `INSERT INTO budget (kind, subject, window_kind, time_zone, path, limit_tokens, used_tokens, own_tokens,
    window_start, source, declared, created_by)
  SELECT 'agent', agent_id, 'total', 'UTC', '{}', budget_total, budget_used, budget_used, clock_timestamp(),
    budget_source, true, registered_by FROM agent`;

/** Writes a fleet directly into the tables, because the benchmark does not measure registrations. */
export async function fillFleet(url: string, agents: number): Promise<void> {
  const db = new Database({ url, poolSize: 1, operationTimeoutMs: 120_000 });
  await db.query(AGENTS, [agents, JSON.stringify(NEVER_FLAPPED)]);
  await db.query(CIRCUITS, [JSON.stringify(CLOSED_CIRCUIT)]);
  await db.query(LEASES);
  await db.query(BUDGETS);
  for (const table of ['agent', 'agent_circuit', 'agent_lease', 'budget']) await db.query(`VACUUM ANALYZE ${table}`);
  await db.close();
}
