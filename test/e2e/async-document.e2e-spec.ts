import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { startApi, type TestApi } from '../support/api.js';

interface AsyncDocument {
  asyncapi: string;
  channels: Record<string, { address: string; messages: Record<string, object> }>;
  operations: Record<string, { action: string; messages: { $ref: string }[] }>;
}

const SOURCES = resolve(import.meta.dirname, '../../apps/api/src');

let api: TestApi;
let document: AsyncDocument;
beforeAll(async () => {
  api = await startApi();
  document = (await api.call<AsyncDocument>('GET', '/asyncapi.json', { key: null })).body;
});
afterAll(async () => await api.stop());

/** The values of all `$ref` in the document. */
function refsIn(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([key, value]) => (key === '$ref' ? [String(value)] : refsIn(value)));
}

/** The names in calls such as `sendFrame('end', …)` in the sources. */
function namesIn(pattern: string, call: RegExp): Set<string> {
  const texts = globSync(pattern, { cwd: SOURCES }).map((file) => readFileSync(resolve(SOURCES, file), 'utf8'));
  return new Set(texts.flatMap((text) => [...text.matchAll(call)].map(([, name = '']) => name)));
}

describe('/asyncapi.json', () => {
  it('N-7 describes the WebSockets and streams, and every reference leads to a part of the document', () => {
    expect(document.asyncapi).toBe('3.0.0');
    expect(Object.values(document.channels).map(({ address }) => address)).toEqual([
      '/v1/events/ws',
      '/v1/agents/ws',
      '/v1/events/stream',
      '/v1/runs/{id}/stream',
    ]);
    const refs = refsIn(document);
    expect(refs.length).toBeGreaterThan(50);
    for (const ref of refs) {
      const path = ref.replace('#/', '').split('/');
      expect([ref, path.reduce<unknown>((node, key) => (node as Record<string, unknown>)?.[key], document)]).toEqual([
        ref,
        expect.any(Object),
      ]);
    }
  });

  it('N-7 contains every frame that the gateways accept and send', () => {
    const frames = (channel: string): Set<string> => new Set(Object.keys(document.channels[channel]?.messages ?? {}));
    const accepted = namesIn('events/*.ts', /@SubscribeMessage\('([\w-]+)'\)/g);
    const sent = namesIn('{events,runs}/*.ts', /sendFrame\('([\w-]+)'/g);
    expect(frames('events')).toEqual(new Set([...accepted, ...sent, 'events']));
    const toAgents = namesIn('agents/liveness/agent.sockets.ts', /(?:this\.send\(|event: )'([\w-]+)'/g);
    for (const name of toAgents) expect(frames('agent')).toContain(name);
    expect(Object.keys(document.operations)).toEqual(
      expect.arrayContaining(['events.send', 'events.receive', 'agent.send', 'agent.receive', 'eventStream.send']),
    );
  });
});

describe('the errors in /openapi.json', () => {
  it('N-7 each error has an example of its own, with only the fields that every error has', async () => {
    interface OpenApi {
      paths: Record<
        string,
        Record<string, { responses: Record<string, { content?: Record<string, { examples?: object }> }> }>
      >;
      components: { examples: Record<string, { value: { code: string; status: number } }> };
    }
    const { paths, components } = (await api.call<OpenApi>('GET', '/openapi.json', { key: null })).body;
    const missing = paths['/v1/agents/{id}']?.['get']?.responses['404'];
    expect(missing?.content?.['application/problem+json']?.examples).toEqual({
      AGENT_NOT_FOUND: { $ref: '#/components/examples/AGENT_NOT_FOUND' },
    });
    for (const [code, { value }] of Object.entries(components.examples)) {
      expect(Object.keys(value)).toEqual(['type', 'title', 'status', 'detail', 'code', 'requestId']);
      expect(value.code).toBe(code);
    }
    for (const ref of refsIn(paths).filter((one) => one.includes('/examples/')))
      expect(components.examples).toHaveProperty([ref.split('/').at(-1) ?? '']);
  });
});
