import { until } from '#rollcall/test-support';
import type { TestApi } from './api.js';
import type { FlowAnswers } from './run-flows.js';

type Row = Record<string, unknown>;

/** What a flow wrote and answered. Ids have stable names, and times and durations are replaced. */
export interface Transcript {
  answers: unknown;
  runs: unknown;
  steps: unknown;
  events: unknown;
  audit: unknown;
  budgets: unknown;
  ledgerLines: unknown;
  reservations: unknown;
  outcomes: unknown;
  idempotencyKeys: number;
}

const UUID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;
const TIME = /\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}(:\d{2})?)/g;
const LOCAL_PORT = /127\.0\.0\.1:\d+/g;
/** Fields whose values differ in each execution and that name nothing. */
const DURATIONS = new Set(['latency_ms']);
/** Fields with ids of budgets. */
const BUDGET_IDS = new Set(['budget_id', 'budget_ids', 'budget_path', 'budget_root']);
/** The key of a charge names its reservation inside the run and has no meaning outside the run. */
const KEY = '<key>';
/** Reservations that are opened together have no order of their own. */
const RESERVATION_ORDER = `LEFT JOIN run AS r ON r.id = v.run_id
  ORDER BY r.seq NULLS FIRST, v.state DESC, v.held_tokens DESC, v.held_micro_usd DESC, v.used_tokens, v.opened_at`;
const STAGED = 'SELECT 1 FROM event_staging LIMIT 1';

/** Records the rows of the flow on a new database. The first rows of the log and of the audit belong to the preparation. */
export class TranscriptRecorder {
  private constructor(
    private readonly api: TestApi,
    private readonly lastEvent: number,
    private readonly lastAudit: number,
  ) {}

  static async start(api: TestApi): Promise<TranscriptRecorder> {
    await eventsAreLogged(api);
    const lastOf = async (table: string): Promise<number> => {
      const [row] = await api.database.db.query<{ seq: string }>(`SELECT coalesce(max(seq), 0) AS seq FROM ${table}`);
      return Number(row?.seq);
    };
    return new TranscriptRecorder(api, await lastOf('event_log'), await lastOf('audit_entry'));
  }

  /** Call it when the caller has the result of the flow. */
  async end(answers: FlowAnswers): Promise<Transcript> {
    await until('the ends of all runs are in the event log', async () => {
      const ended = "SELECT 1 FROM event_log AS e WHERE e.type = 'run.finished' AND e.subject = r.id";
      return (await this.rows(`SELECT 1 FROM run AS r WHERE NOT EXISTS (${ended})`)).length === 0;
    });
    await until('the outcomes of the calls to external agents are stored', async () => {
      const calls = await this.rows("SELECT 1 FROM run WHERE agent_id = 'external'");
      return (await this.rows('SELECT 1 FROM agent_outcome')).length === calls.length;
    });
    await eventsAreLogged(this.api);
    return await this.read(answers);
  }

  /**
   * Rows that nothing relates are in an order of their own, and numbers that count commits are left out. So the transcript is
   * equal whether rows were committed together or one after the other. Traces are left out too: another suite in the same process can have
   * switched them on.
   */
  private async read(answers: FlowAnswers): Promise<Transcript> {
    const names = await this.names();
    const all = async (sql: string, ...parameters: unknown[]): Promise<unknown> =>
      names.apply((await this.rows(sql, ...parameters)).map(({ row }) => withoutNulls(row)));
    return {
      answers: names.apply(answers),
      runs: await all(`SELECT to_jsonb(r) - '{seq,trace}'::text[] AS row FROM run AS r ORDER BY seq`),
      steps: await all(
        `SELECT to_jsonb(s) AS row FROM run_step AS s JOIN run AS r ON r.id = s.run_id ORDER BY r.seq, s.seq`,
      ),
      events: await all(
        `SELECT to_jsonb(e) - '{seq,id,at}'::text[] AS row FROM event_log AS e WHERE seq > $1 ORDER BY e.seq`,
        this.lastEvent,
      ),
      audit: await all(
        `SELECT to_jsonb(a) - '{seq,at,fingerprint,request_id}'::text[] AS row FROM audit_entry AS a
         WHERE seq > $1 ORDER BY a.seq`,
        this.lastAudit,
      ),
      budgets: await all(
        `SELECT to_jsonb(b) - '{id,path,root_id,version}'::text[]
           || jsonb_build_object('budget_id', b.id, 'budget_path', path, 'budget_root', b.root_id) AS row
         FROM budget AS b LEFT JOIN run AS r ON r.id = b.subject ORDER BY r.seq NULLS FIRST, b.kind, b.subject`,
      ),
      ledgerLines: await all(
        `SELECT to_jsonb(l) - '{seq}'::text[] AS row
         FROM budget_entry AS l JOIN budget AS b ON b.id = l.budget_id LEFT JOIN run AS r ON r.id = b.subject
         ORDER BY r.seq NULLS FIRST, b.kind, b.subject, l.seq`,
      ),
      reservations: await all(`SELECT to_jsonb(v) AS row FROM budget_reservation AS v ${RESERVATION_ORDER}`),
      outcomes: await all(`SELECT to_jsonb(o) AS row FROM agent_outcome AS o ORDER BY agent_id, number`),
      idempotencyKeys: (await this.rows('SELECT 1 FROM idempotency_key')).length,
    };
  }

  private async names(): Promise<StableNames> {
    const runs = await this.rows('SELECT id FROM run ORDER BY seq');
    const keys = await this.rows('SELECT id, name FROM api_key');
    const budgets = await this.rows('SELECT id, kind, subject FROM budget');
    const reservations = await this.rows(`SELECT v.key FROM budget_reservation AS v ${RESERVATION_ORDER}`);
    const names: [string, string][] = [
      ...reservations.map(({ key }, index): [string, string] => [String(key), `reservation-${index + 1}`]),
      ...runs.map(({ id }, index): [string, string] => [String(id), `run-${index + 1}`]),
      ...keys.map(({ id, name }): [string, string] => [`key:${String(id)}`, `key:${String(name)}`]),
    ];
    return new StableNames(
      new Map(names.toSorted(([one], [other]) => other.length - one.length)), // a key of a reservation contains an id
      new Map(budgets.map(({ id, kind, subject }) => [String(id), `${String(kind)} ${String(subject)}`])),
    );
  }

  private async rows(sql: string, ...parameters: unknown[]): Promise<Row[]> {
    return await this.api.database.db.query<Row>(sql, parameters);
  }
}

async function eventsAreLogged({ database }: TestApi): Promise<void> {
  await until('all events are in the log', async () => (await database.db.query(STAGED)).length === 0);
}

/** In a row, an absent value and null mean the same. In an answer, they do not. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).filter(([, content]) => content !== null);
  return Object.fromEntries(fields.map(([name, content]) => [name, withoutNulls(content)] as const));
}

/** Replaces what differs in each execution. The same value always gets the same name. */
class StableNames {
  private readonly uuids = new Map<string, string>();

  /** A value that contains another one must come before it. */
  constructor(
    private readonly names: ReadonlyMap<string, string>,
    private readonly budgets: ReadonlyMap<string, string>,
  ) {}

  apply(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value);
    if (Array.isArray(value)) return value.map((one) => this.apply(one));
    if (typeof value !== 'object' || value === null) return value;
    const fields = Object.entries(value);
    return Object.fromEntries(fields.map(([name, content]) => [this.text(name), this.field(name, content)] as const));
  }

  private field(name: string, content: unknown): unknown {
    if (DURATIONS.has(name) && typeof content === 'number') return '<duration>';
    if (name === 'charges' && Array.isArray(content))
      return content.map((charge: object) => this.apply({ ...charge, key: KEY }));
    if (!BUDGET_IDS.has(name)) return this.apply(content);
    const labelOf = (id: unknown): string => this.text(this.budgets.get(String(id)) ?? String(id));
    if (!Array.isArray(content)) return labelOf(content);
    const labels = content.map(labelOf);
    return name === 'budget_ids' ? labels.toSorted() : labels;
  }

  private text(text: string): string {
    let replaced = text.replace(TIME, '<time>').replace(LOCAL_PORT, '127.0.0.1:<port>');
    for (const [value, name] of this.names) replaced = replaced.replaceAll(value, name);
    return replaced.replace(UUID, (uuid) => this.uuidName(uuid));
  }

  private uuidName(uuid: string): string {
    const name = this.uuids.get(uuid) ?? `uuid-${this.uuids.size + 1}`;
    this.uuids.set(uuid, name);
    return name;
  }
}
