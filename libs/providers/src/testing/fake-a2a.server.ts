import { DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import type { A2aWire } from './a2a-wires/a2a.wire.js';
import { jsonRpcWire } from './a2a-wires/json-rpc.wire.js';
import { LocalServer, type RecordedRequest } from './local-server.js';
import { FakeA2aExecutor } from './fake-a2a.executor.js';

/** An A2A server of the SDK with one protocol binding. Its agent executes the scenario in the text of its message. */
export class FakeA2aServer {
  readonly executor = new FakeA2aExecutor();

  private constructor(private readonly server: LocalServer) {}

  static async start({ streaming = true, wire = jsonRpcWire }: { streaming?: boolean; wire?: A2aWire } = {}) {
    const server = await LocalServer.start(async (request, response) => {
      if (request.path.endsWith('/agent-card.json')) return response.end(JSON.stringify(wire.cardJson(card)));
      const asked = `${request.path} ${JSON.stringify(request.body)}`;
      if (fake.executor.crashed.some((taskId) => asked.includes(taskId))) return response.destroy();
      fake.executor.dropConnection = () => response.destroy();
      return await answer(request, response);
    });
    const fake = new FakeA2aServer(server);
    const card = wire.card({ url: server.url, streaming });
    const answer = wire.serve(new DefaultRequestHandler(card, new InMemoryTaskStore(), fake.executor));
    return fake;
  }

  get url(): string {
    return this.server.url;
  }

  get requests(): RecordedRequest[] {
    return this.server.requests;
  }

  /** The received calls, in order: JSON-RPC methods, or the last part of the paths. */
  get methods(): string[] {
    const asked = this.requests.filter(({ path }) => !path.endsWith('/agent-card.json'));
    return asked.map(({ body, path }) => (body as { method?: string }).method ?? path.replace(/^.*[/:]/, ''));
  }

  async close(): Promise<void> {
    this.executor.stopAll();
    await this.server.close();
  }
}
