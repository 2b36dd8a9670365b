import { LocalServer, type RecordedRequest } from './local-server.js';
import type { ServerResponse } from 'node:http';

interface MetricsQuery {
  view: string;
  dimensions: { field: string }[];
  metrics: { measure: string; aggregation: string }[];
  filters: { column: string; operator: string; value: string[]; type: string }[];
  fromTimestamp: string;
  toTimestamp: string;
}

/** One model call in the traces of Langfuse. */
export interface TracedCall {
  agentId: string;
  totalTokens: number;
  totalCost: number;
  at: Date;
}

/** A fake of the metrics API of Langfuse: basic authentication, a JSON query in the URL, and sums as text. */
export class LangfuseServer {
  readonly traced: TracedCall[] = [];
  /** If it is set, every request fails with this status. */
  fault?: { status: number; headers?: Record<string, string> };
  /** Whether responses start but never end. */
  stalls = false;
  /** Whether the server offers only the first version of the metrics API. */
  isOld = false;

  private constructor(
    private readonly server: LocalServer,
    readonly keys: { publicKey: string; secretKey: string },
  ) {}

  static async start(): Promise<LangfuseServer> {
    const answer = (request: RecordedRequest, response: ServerResponse): void => langfuse.answer(request, response);
    const keys = { publicKey: 'pk-lf-test', secretKey: 'sk-lf-test' };
    const langfuse = new LangfuseServer(await LocalServer.start(answer), keys);
    return langfuse;
  }

  get url(): string {
    return this.server.url;
  }

  /** The received queries, in order. */
  get queries(): MetricsQuery[] {
    return this.server.requests.map(({ path }) => queryIn(path));
  }

  async close(): Promise<void> {
    await this.server.close();
  }

  private answer({ path, headers }: RecordedRequest, response: ServerResponse): void {
    const { publicKey, secretKey } = this.keys;
    const { pathname } = new URL(path, this.url);
    const known = this.isOld ? '/api/public/metrics' : '/api/public/v2/metrics';
    if (this.stalls) return void response.writeHead(200, { 'content-type': 'application/json' }).write('{"data":[');
    if (this.fault) return send(response, this.fault.status, { message: 'not now' }, this.fault.headers);
    if (headers.authorization !== `Basic ${btoa(`${publicKey}:${secretKey}`)}`)
      return send(response, 401, {
        message: 'Invalid credentials. Confirm that you have configured the correct host.',
      });
    if (pathname !== known) return send(response, 404, { message: 'Not found' });
    send(response, 200, { data: this.sums(queryIn(path)) });
  }

  private sums({ dimensions, filters, fromTimestamp, toTimestamp }: MetricsQuery): Record<string, unknown>[] {
    const field = dimensions[0]?.field ?? '';
    const wanted = new Set(filters.find(({ column }) => column === field)?.value);
    const [from, to] = [Date.parse(fromTimestamp), Date.parse(toTimestamp)];
    const seen = this.traced.filter(({ agentId, at }) => wanted.has(agentId) && +at >= from && +at < to);
    return [...Map.groupBy(seen, ({ agentId }) => agentId)].map(([agentId, calls]) => ({
      [field]: agentId,
      sum_totalTokens: String(calls.reduce((sum, { totalTokens }) => sum + totalTokens, 0)),
      sum_totalCost: calls.reduce((sum, { totalCost }) => sum + totalCost, 0),
    }));
  }
}

function queryIn(path: string): MetricsQuery {
  return JSON.parse(new URL(path, 'http://langfuse').searchParams.get('query') ?? '{}') as MetricsQuery;
}

function send(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}
