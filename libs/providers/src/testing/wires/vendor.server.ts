import type { ServerResponse } from 'node:http';
import { LocalServer, type RecordedRequest } from '../local-server.js';
import { isAnswered, type Scenario, type Wire } from './scenario.js';

/** A fake vendor with real HTTP and the wire format of the vendor. It executes the scenarios that `play` sets. */
export class VendorServer {
  private readonly scenarios: Scenario[] = [];

  private constructor(
    private readonly wire: Wire,
    private readonly server: LocalServer,
  ) {}

  static async start(wire: Wire): Promise<VendorServer> {
    const server = await LocalServer.start((request, response) => vendor.answer(request, response));
    const vendor = new VendorServer(wire, server);
    return vendor;
  }

  get baseUrl(): string {
    return `${this.server.url}/v1`;
  }

  get requests(): RecordedRequest[] {
    return this.server.requests;
  }

  get busyConnections(): number {
    return this.server.busyConnections;
  }

  play(...scenarios: Scenario[]): void {
    this.scenarios.push(...scenarios);
  }

  async close(): Promise<void> {
    await this.server.close();
  }

  private answer(request: RecordedRequest, response: ServerResponse): void {
    const scenario = this.scenarios.shift();
    const [path = ''] = request.path.split('?');
    const wanted = this.wire.requestOf ? this.wire.requestOf(path) : path === this.wire.path && request.body;
    if (!wanted || !scenario) return send(response, 404, { unexpected: request.path });
    const { model = '', stream = false } = wanted as { model?: string; stream?: boolean };
    if (scenario.does === 'fail') {
      const message = `refused (${scenario.status}) for ${this.wire.keyOf(request.headers)}`; // real vendors quote keys too
      return send(response, scenario.status, this.wire.failure(scenario.status, message), scenario.headers);
    }
    if (stream) return this.stream(response, scenario, model);
    if (isAnswered(scenario)) return send(response, 200, this.wire.reply(scenario, model));
    if (scenario.does !== 'hang') response.destroy();
  }

  private stream(response: ServerResponse, scenario: Exclude<Scenario, { does: 'fail' }>, model: string): void {
    const { binary } = this.wire;
    const type = binary?.type ?? 'text/event-stream; charset=utf-8';
    response.writeHead(200, { 'content-type': type, 'cache-control': 'no-cache' });
    for (const frame of this.wire.frames(scenario, model)) {
      if (binary) {
        response.write(binary.encode(frame));
        continue;
      }
      if (this.wire.namesEvents) response.write(`event: ${(frame as { type: string }).type}\n`);
      response.write(`data: ${JSON.stringify(frame)}\n\n`);
    }
    if (scenario.does === 'hang') return;
    if (scenario.does === 'drop') return void setImmediate(() => response.destroy());
    if (isAnswered(scenario) && this.wire.terminator) response.write(`data: ${this.wire.terminator}\n\n`);
    response.end();
  }
}

function send(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}
