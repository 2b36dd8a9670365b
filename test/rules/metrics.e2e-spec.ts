import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { RUN_STATES } from '#rollcall/agent-runtime';
import { until } from '#rollcall/test-support';
import { parse } from 'yaml';
import { HttpMetrics } from '../../apps/api/src/telemetry/http.metrics.js';
import { PROBLEMS } from '../../apps/api/src/http/problems/problem.table.js';
import { startApi, type TestApi } from '../support/api.js';
import {
  resultLabelsOf,
  SCRAPE_LABELS,
  selectorsOf,
  selects,
  type Selector,
  type Series,
  seriesOf,
} from '../support/prometheus.js';

interface Metric {
  name: string;
  type: string;
  help: string;
  labelNames: readonly string[];
}

interface Panel {
  title: string;
  targets?: { expr: string; legendFormat: string }[];
}

interface AlertRule {
  alert: string;
  expr: string;
  annotations: { summary: string };
}

/** Values that a label has only after a failure, by metric. */
const AFTER_FAILURES: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  rollcall_http_request_duration_seconds_count: { status: Object.values(PROBLEMS).map(({ status }) => String(status)) },
  rollcall_runs_finished_total: { state: RUN_STATES },
};
const PROCESS = /^rollcall_(process|nodejs)_/;

const read = (path: string): string => readFileSync(resolve(import.meta.dirname, '../..', path), 'utf8');

let api: TestApi;
let metrics: Map<string, Metric>;
let exposition: string;

beforeAll(async () => {
  api = await startApi({ ROLLCALL_SEALING_KEY: 'k'.repeat(32) });
  await useEverything();
  exposition = await scrape();
  const { registry } = api.app.nest.get(HttpMetrics, { strict: false });
  metrics = new Map(registry.getMetricsAsArray().map((one) => [one.name, toMetric(one)]));
});
afterAll(async () => await api.stop());

/** The library declares only some of the fields of a metric. */
function toMetric(one: object): Metric {
  const { name, help, labelNames, constructor } = one as Metric & { constructor: { name: string } };
  return { name, help, labelNames, type: constructor.name.toLowerCase() };
}

async function scrape(): Promise<string> {
  const response = await fetch(`${api.url}/metrics`, { headers: { authorization: `Bearer ${api.adminKey}` } });
  return await response.text();
}

/** Makes the server count in every metric: agents, a heartbeat, queries, budgets, a webhook. */
async function useEverything(): Promise<void> {
  const agent = await api.given.agent({ agentId: 'builder', capabilities: ['build'] });
  await api.call('POST', '/v1/agents/builder/heartbeat', { key: agent.leaseToken, body: { generation: 1 } });
  await api.call('POST', '/v1/agents/query', { body: { capabilities: ['build'], consistency: 'strong' } });
  await api.call('POST', '/v1/agents/query', { body: { capabilities: ['nothing'] } });
  await api.call('POST', '/v1/budgets', { body: { kind: 'namespace', subject: 'default', limit: { tokens: 1_000 } } });
  const reserve = async (key: string, tokens: number): Promise<unknown> =>
    await api.call('POST', '/v1/budgets/reservations', { body: { key, agentId: 'builder', tokens } });
  await reserve('settled', 400);
  await api.call('POST', '/v1/budgets/reservations/settled/settle', { body: { tokens: 300 } });
  await reserve('held', 200);
  await reserve('too-much', 900);
  await api.call('POST', '/v1/webhooks', { body: { url: 'https://ops.example' } });
  await until('the metrics have the sink', async () => (await scrape()).includes('rollcall_sink_lag_events{'));
}

/** Executes a run, in a namespace without a budget, and evicts an agent. */
async function runAndEvict(): Promise<void> {
  await api.call('POST', '/v1/namespaces', { body: { name: 'team' } });
  const key = await api.issueKeyIn('team', 'admin');
  const content = { description: 'Reads the clock.', instructions: 'Read the clock.', tools: ['clock'] };
  await api.call('POST', '/v1/definitions', { key, body: { name: 'clerk', content } });
  const input = 'Read the clock 1 time.';
  const { body } = await api.call('POST', '/v1/runs', { key, body: { definition: 'clerk', input } });
  const state = async (): Promise<unknown> =>
    (await api.call('GET', `/v1/runs/${String(body['id'])}`, { key })).body['state'];
  await until('the run has ended', async () => (await state()) === 'completed');
  await api.given.agent({ agentId: 'leaver' });
  await api.call('POST', '/v1/agents/leaver/evict');
}

/** The value of a series, or undefined. */
function valueOf(series: string): number | undefined {
  const line = exposition.split('\n').find((one) => one.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

/** A row of docs/metrics.md. The columns are padded by the formatter. */
function rowOf({ name, type, help, labelNames }: Metric): string {
  return `| \`${name}\` | ${type} | ${labelNames.map((label) => `\`${label}\``).join(', ')} | ${help} |`;
}

const unpadded = (text: string): string => text.replaceAll(/ +/g, ' ');

describe('the metrics', () => {
  it('docs/metrics.md has each metric with its labels and its meaning, and no other metric', () => {
    const page = unpadded(read('docs/metrics.md'));
    const own = [...metrics.values()].filter(({ name }) => !PROCESS.test(name));
    expect(own.map(rowOf).filter((row) => !page.includes(unpadded(row)))).toEqual([]);
    const documented = [...page.matchAll(/^\| `(rollcall_\w+)`/gm)].map(([, name]) => name ?? '');
    expect(documented.filter((name) => !metrics.has(name))).toEqual([]);
  });

  it('count agents, heartbeats, queries and circuits (N14)', () => {
    expect({
      active: valueOf('rollcall_agents{status="active",health="active"}'),
      closed: valueOf('rollcall_circuits{phase="closed"}'),
      beats: valueOf('rollcall_heartbeats_total{outcome="accepted"}'),
      queries: valueOf('rollcall_queries_total'),
      empty: valueOf('rollcall_queries_without_candidate_total'),
      mode: valueOf('rollcall_self_preservation{mode="normal"}'),
      joined: valueOf('rollcall_events_total{type="agent.joined"}'),
    }).toEqual({ active: 1, closed: 1, beats: 1, queries: 2, empty: 1, mode: 1, joined: 1 });
  });

  it('count the use of budgets', () => {
    expect({
      granted: valueOf('rollcall_budget_reservations_total'),
      rejected: valueOf('rollcall_budget_refusals_total'),
      tokens: valueOf('rollcall_budget_tokens_total'),
      held: valueOf('rollcall_budget_tokens_held'),
      ratio: valueOf('rollcall_budget_used_ratio{kind="namespace",subject="default",window="total",unit="tokens"}'),
    }).toEqual({ granted: 2, rejected: 1, tokens: 300, held: 200, ratio: 0.5 });
  });

  it('have the batches of group commits and the connections of the pools', () => {
    expect(valueOf('rollcall_group_commit_batches_total{group="heartbeats"}')).toBe(1);
    expect(valueOf('rollcall_group_commit_items_total{group="heartbeats"}')).toBe(1);
    expect(valueOf('rollcall_database_pool_size{pool="reserved"}')).toBeGreaterThan(0);
  });

  it('show a transaction that another program holds open (D11)', async () => {
    const age = async (): Promise<number> => {
      exposition = await scrape();
      return valueOf('rollcall_database_oldest_transaction_seconds') ?? 0;
    };
    const client = api.database.db.dedicatedClient('other-program');
    await client.connect();
    await client.query('BEGIN');
    await until('the transaction is a second old', async () => (await age()) >= 1);
    await client.end();
    await until('no transaction is old', async () => (await age()) < 1);
  });
});

describe('deploy/grafana', () => {
  beforeAll(async () => {
    await runAndEvict();
    exposition = await scrape();
  });

  const panels = (): Panel[] => (JSON.parse(read('deploy/grafana/dashboard.json')) as { panels: Panel[] }).panels;
  const rules = (): AlertRule[] => {
    const { groups } = parse(read('deploy/grafana/alerts.yaml')) as { groups: { rules: AlertRule[] }[] };
    return groups.flatMap((group) => group.rules);
  };
  const expressions = (): string[] =>
    [...panels().flatMap(({ targets = [] }) => targets), ...rules()].map(({ expr }) => expr);

  it('every query of the dashboard uses metrics and labels that the server has', () => {
    const queries = panels().flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const));
    expect(queries.length).toBeGreaterThan(30);
    expect(queries.flatMap(([title, expr]) => unknownIn(expr).map((name) => `${title}: ${name}`))).toEqual([]);
  });

  it('every alert rule uses metrics and labels that the server has', () => {
    expect(rules().length).toBeGreaterThan(10);
    expect(rules().flatMap(({ alert, expr }) => unknownIn(expr).map((name) => `${alert}: ${name}`))).toEqual([]);
  });

  it('every metric in a query has a series with the selected values on a server in use, except the metrics of failures', () => {
    const rare = new Set(['rollcall_background_failures_total']);
    const series = seriesOf(exposition);
    const missing = expressions()
      .flatMap(selectorsOf)
      .filter(({ name }) => !rare.has(name))
      .filter((selector) => ![...series, ...possibleAfterFailures(selector)].some((one) => selects(selector, one)));
    expect(missing).toEqual([]);
  });

  it('every legend and every annotation uses labels of its query', () => {
    const shown = panels().flatMap(({ targets = [] }) => targets);
    const texts = [
      ...shown.map(({ expr, legendFormat }) => ({ expr, used: legendFormat.matchAll(/\{\{(\w+)\}\}/g) })),
      ...rules().map(({ expr, annotations }) => ({ expr, used: annotations.summary.matchAll(/\$labels\.(\w+)/g) })),
    ];
    const unknown = texts.flatMap(({ expr, used }) => {
      const labels = resultLabelsOf(expr, [...SCRAPE_LABELS, ...labelsOfMetrics(expr)]);
      return [...used].map(([, label = '']) => label).filter((label) => !labels.includes(label));
    });
    expect(unknown).toEqual([]);
  });

  it('the dashboard shows runs by state, their duration and their cost', () => {
    const queries = expressions().join('\n');
    for (const part of [
      'by (state) (rollcall_runs{',
      'rollcall_run_duration_seconds_bucket{',
      'rollcall_run_cost_usd_total{',
    ])
      expect(queries).toContain(part);
  });

  it('every route in an annotation exists', () => {
    const routes = rules().flatMap(({ annotations }) => annotations.summary.match(/\bGET \/[\w/]+/g) ?? []);
    expect(routes.length).toBeGreaterThan(0);
    expect(routes.filter((route) => !api.app.routes.all().includes(route))).toEqual([]);
  });

  it('the check finds a value that no series has', () => {
    const isEmpty = (expr: string): boolean =>
      selectorsOf(expr).some((selector) => !seriesOf(exposition).some((one) => selects(selector, one)));
    expect(isEmpty('rollcall_agents{job="$job",status="active"}')).toBe(false);
    expect(isEmpty('rollcall_agents{job="$job",status="activ"}')).toBe(true);
    expect(isEmpty('rollcall_heartbeats_total{outcome!~"accepted|.*"}')).toBe(true);
  });

  it('the check finds an unknown metric and an unknown label', () => {
    expect(unknownIn('sum by (colour) (rollcall_agents{size="1"})')).toEqual(['size', 'colour']);
    expect(unknownIn('rate(rollcall_unicorns_total[5m])')).toEqual(['rollcall_unicorns_total']);
  });
});

/** Series that the server has only after a failure, one for each possible value of a selected label. */
function possibleAfterFailures({ name, conditions }: Selector): Series[] {
  const values = AFTER_FAILURES[name] ?? {};
  return conditions.flatMap(({ label }) =>
    (values[label] ?? []).map((value) => ({ name, labels: new Map([[label, value]]) })),
  );
}

function labelsOfMetrics(expr: string): string[] {
  return selectorsOf(expr).flatMap(({ name }) => metricOf(name)?.labelNames ?? []);
}

/** The metric of a name in a query: a histogram has three names. */
function metricOf(name: string): Metric | undefined {
  const histogram = metrics.get(name.replace(/_(bucket|count|sum)$/, ''));
  return metrics.get(name) ?? (histogram?.type === 'histogram' ? histogram : undefined);
}

/** The metrics that do not exist, and the labels that no metric of the query has. */
function unknownIn(expr: string): string[] {
  const names = selectorsOf(expr).map(({ name }) => name);
  const known = new Set([...SCRAPE_LABELS, 'le', ...labelsOfMetrics(expr)]);
  const selected = [...expr.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)].map(([, label]) => label ?? '');
  const grouped = [...expr.matchAll(/\bby\s*\(([^)]*)\)/g)].flatMap(([, list]) => (list ?? '').split(/\s*,\s*/));
  return [
    ...names.filter((name) => !metricOf(name)),
    ...[...selected, ...grouped].filter((label) => !known.has(label)),
  ];
}
