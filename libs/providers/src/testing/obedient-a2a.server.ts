import { DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import type { A2aWire } from './a2a-wires/a2a.wire.js';
import { jsonRpcWire } from './a2a-wires/json-rpc.wire.js';
import { LocalServer, type RecordedRequest } from './local-server.js';
import { ObedientExecutor } from './obedient-a2a.executor.js';

/** A real A2A server of the SDK, on one of the protocol's wires, whose agent does what the text of its message says. */
export class ObedientA2aServer {
  readonly executor = new ObedientExecutor();

  private constructor(private readonly server: LocalServer) {}

  static async start({ streaming = true, wire = jsonRpcWire }: { streaming?: boolean; wire?: A2aWire } = {}) {
    const server = await LocalServer.start(async (request, response) => {
      if (request.path.endsWith('/agent-card.json')) return response.end(JSON.stringify(wire.cardJson(card)));
      const asked = `${request.path} ${JSON.stringify(request.body)}`;
      if (obedient.executor.crashed.some((taskId) => asked.includes(taskId))) return response.destroy();
      obedient.executor.dropConnection = () => response.destroy();
      return await answer(request, response);
    });
    const obedient = new ObedientA2aServer(server);
    const card = wire.card({ url: server.url, streaming });
    const answer = wire.serve(new DefaultRequestHandler(card, new InMemoryTaskStore(), obedient.executor));
    return obedient;
  }

  get url(): string {
    return this.server.url;
  }

  get requests(): RecordedRequest[] {
    return this.server.requests;
  }

  /** What was asked for, in order: JSON-RPC methods, or the last part of paths. */
  get methods(): string[] {
    const asked = this.requests.filter(({ path }) => !path.endsWith('/agent-card.json'));
    return asked.map(({ body, path }) => (body as { method?: string }).method ?? path.replace(/^.*[/:]/, ''));
  }

  async close(): Promise<void> {
    this.executor.stopAll();
    await this.server.close();
  }
}
