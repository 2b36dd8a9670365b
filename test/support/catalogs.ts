import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from './api.js';
import type { Answer } from './call.js';

export type Entry = Record<string, unknown> & { identifier: string; displayName: string; type: string };
export interface Manifest {
  entries: Entry[];
}
export interface SearchResponse {
  results: (Entry & { score: number; source: string })[];
  referrals?: unknown[];
  pageToken?: string;
}
export interface ListResponse {
  items: Entry[];
  total: number;
  pageToken?: string;
}
export interface ServerList {
  servers: { server: Record<string, unknown> & { name: string }; _meta: Record<string, Record<string, unknown>> }[];
  metadata: { count: number; nextCursor?: string };
}

const URN = /^urn:air:([a-zA-Z0-9.-]+)(?::([a-zA-Z0-9._:-]+))?:([a-zA-Z0-9._-]+)$/;

/** Applies the required checks of the conformance tool of ARD 0.91 to one entry, and returns one fault for each failed check. */
export function entryFaults(entry: Entry): string[] {
  const checks: Record<string, boolean> = {
    'has an identifier': typeof entry.identifier === 'string',
    'has a valid identifier': URN.test(entry.identifier),
    'has a displayName': Boolean(entry.displayName),
    'has a type': Boolean(entry.type),
    'has exactly one of url and data': 'url' in entry !== 'data' in entry,
    'has 2 to 5 representativeQueries': queriesOf(entry).length >= 2 && queriesOf(entry).length <= 5,
    'has representativeQueries that are strings': queriesOf(entry).every((one) => typeof one === 'string'),
    'has no trustManifest without identity': entry['trustManifest'] === undefined,
  };
  return Object.entries(checks).flatMap(([check, holds]) => (holds ? [] : [`${entry.identifier}: ${check}`]));
}
const queriesOf = (entry: Entry): unknown[] => entry['representativeQueries'] as unknown[];

export const PUBLIC = { visibility: 'public' };
export const URL_BASE = 'https://fleet.example.com/base';
export const A2A_CARD = 'application/a2a-agent-card+json';
export const FORECASTER = 'urn:air:fleet.example.com:agent:forecaster';

const AGENTS = [
  {
    agentId: 'forecaster',
    name: 'Forecaster',
    capabilities: ['weather.forecast', 'weather.history'],
    version: '2.1.0',
    costModel: { usdPerTask: 0.25 },
    endpoint: 'https://10.9.8.7/internal',
    agentCard: {
      description: 'Makes weather forecasts.',
      skills: [{ examples: ['Will it rain?', 'How warm is it?'] }],
    },
  },
  { agentId: 'team:Builder:', name: 'Builder', capabilities: ['code.build'] },
  { agentId: 'Weather_Station.1', name: 'Station', capabilities: ['measure'], version: 'latest' },
];

/** Two replicas with four public agents, one of them in another namespace, and two agents that are not public. */
export class Catalogs {
  private constructor(
    readonly api: TestApi,
    readonly other: TestApi,
  ) {}

  static async start(settings: Record<string, string> = {}): Promise<Catalogs> {
    const api = await startApi({
      ROLLCALL_PUBLIC_URL: `${URL_BASE}/`,
      ROLLCALL_CATALOG_LABEL: 'visibility=public',
      ROLLCALL_EGRESS_ALLOW: '10.9.8.7',
      ...settings,
    });
    const catalogs = new Catalogs(api, await api.replica());
    await catalogs.fill();
    return catalogs;
  }

  async stop(): Promise<void> {
    await this.other.stop();
    await this.api.stop();
  }

  async get<Body>(path: string, on = this.api, headers = {}): Promise<Answer<Body>> {
    return await on.call<Body>('GET', path, { key: null, headers });
  }

  async post<Body = SearchResponse>(path: string, body: unknown): Promise<Answer<Body>> {
    return await this.api.call<Body>('POST', path, { key: null, body });
  }

  async list(query = '', on = this.api): Promise<Answer<ListResponse>> {
    return await this.get(`/ard/agents${query}`, on);
  }

  async search(text: string, more: object = {}): Promise<SearchResponse> {
    return (await this.post('/ard/search', { query: { text }, ...more })).body;
  }

  /** Waits until a replica lists this number of entries. Three of them are the entries of Rollcall itself. */
  async listed(total: number, on = this.api): Promise<void> {
    await until(`the catalog lists ${total} entries`, async () => (await this.list('', on)).body.total === total);
  }

  private async fill(): Promise<void> {
    const { api } = this;
    await api.given.namespace('team-a');
    for (const agent of AGENTS) await api.given.agent({ ...agent, labels: PUBLIC });
    await api.given.agent({ agentId: 'secret', name: 'Secret forecaster', capabilities: ['weather.forecast'] });
    await api.given.agent({
      agentId: 'inner',
      name: 'Inner',
      capabilities: ['weather'],
      labels: { visibility: 'team' },
    });
    const key = await api.issueKeyIn('team-a', 'agent');
    await api.given.agent({ agentId: 'forecaster', name: 'Team', capabilities: ['plan'], labels: PUBLIC }, key);
    for (const replica of [api, this.other]) await this.listed(7, replica);
  }
}

export function entryPath(identifier: string): string {
  return `/ard/agents/${encodeURIComponent(identifier)}`;
}
