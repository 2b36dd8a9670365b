import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A host of another publisher, with JSON documents by path. */
export class CatalogHost {
  /** The paths of the requests. */
  readonly requests: string[] = [];
  private constructor(
    private readonly server: Server,
    private readonly documents: Map<string, string>,
  ) {}

  static async start(): Promise<CatalogHost> {
    const documents = new Map<string, string>();
    const server = createServer((request, response) => {
      host.requests.push(request.url ?? '');
      const body = documents.get(request.url ?? '');
      response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' }).end(body);
    });
    const host = new CatalogHost(server, documents);
    await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
    return host;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Serves a document, and returns its URL. */
  serve(path: string, document: unknown): string {
    this.documents.set(path, typeof document === 'string' ? document : JSON.stringify(document));
    return this.url + path;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => void this.server.close(done));
  }
}

/** A valid card of A2A 1.0. */
export function cardAt(url: string, overrides: object = {}): Record<string, unknown> {
  return {
    name: 'assistant',
    description: 'Answers questions.',
    version: '1.0.0',
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    skills: [{ id: 'answer', name: 'Answer', description: 'Answers.', tags: ['questions'] }],
    ...overrides,
  };
}
