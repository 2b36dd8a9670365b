import { FakeMcpServer, FakeProgram } from '#rollcall/providers/testing';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';

const OWN = 'team-a';
const OTHER = 'team-b';

let api: TestApi;
let program: FakeProgram;
let server: FakeMcpServer;
let keys: Record<string, string>;

beforeAll(async () => {
  program = new FakeProgram();
  server = await FakeMcpServer.start('2026');
  const own = { namespaces: [OWN] };
  const model = { vendor: 'scripted', model: 'demo' };
  api = await startApi({
    ROLLCALL_EGRESS_ALLOW: '127.0.0.1',
    ROLLCALL_MODELS: JSON.stringify({
      default: 'shared',
      presets: { shared: model, private: { ...model, ...own } },
      aliases: { vip: 'private' },
    }),
    ROLLCALL_PROGRAMS: JSON.stringify({
      open: { command: process.execPath, args: program.args, user: 'same' },
      closed: { command: process.execPath, args: program.args, user: 'same', ...own },
    }),
    ROLLCALL_MCP_SERVERS: JSON.stringify({ docs: { url: server.url, ...own } }),
  });
  for (const name of [OWN, OTHER]) await api.given.namespace(name);
  keys = { [OWN]: await api.issueKeyIn(OWN, 'operator'), [OTHER]: await api.issueKeyIn(OTHER, 'operator') };
  await until('the tools of the server are read', async () => (await text(OWN, '/v1/tools')).includes('mcp__docs__'));
});
afterAll(async () => {
  await api.stop();
  await server.close();
  program.remove();
});

const send = async (namespace: string, method: string, path: string, body?: object): Promise<Answer> =>
  await api.call(method, path, { key: keys[namespace], ...(body && { body }) });
const text = async (namespace: string, path: string): Promise<string> =>
  JSON.stringify((await send(namespace, 'GET', path)).body);
const define = async (namespace: string, name: string, content: object): Promise<Answer> =>
  await send(namespace, 'POST', '/v1/definitions', { name, content: { description: 'Works.', ...content } });
/** The error without the name that it is about. */
const withoutName = (answer: Answer, name: string): string =>
  JSON.stringify(answer.body['errors'] ?? answer.body['detail']).replaceAll(name, 'NAME');

describe('presets, programs and MCP servers of some namespaces', () => {
  it.each(['/v1/models', '/v1/providers', '/v1/tools'])('S-20 %s lists them only in these namespaces', async (path) => {
    const marks = {
      '/v1/models': ['private', 'vip'],
      '/v1/providers': ['private', 'closed'],
      '/v1/tools': ['mcp__docs__'],
    };
    for (const mark of marks[path as keyof typeof marks]) {
      expect(await text(OWN, path)).toContain(mark);
      expect(await text(OTHER, path)).not.toContain(mark);
    }
  });

  it.each([
    ['a preset', { model: 'private' }, { model: 'absent-1' }, 'private', 'absent-1'],
    ['an alias', { model: 'vip' }, { model: 'abs' }, 'vip', 'abs'],
    ['a changed preset', { model: { preset: 'private' } }, { model: { preset: 'absent-1' } }, 'private', 'absent-1'],
    ['the tools of a server', { tools: ['mcp__docs__*'] }, { tools: ['mcp__none__*'] }, 'docs', 'none'],
  ])(
    'S-20 a definition that names %s of another namespace is rejected like one with an unknown name',
    async (_, content, unknown, name, absent) => {
      const refused = await define(OTHER, 'refused', content);
      expect(refused.status).toBe(400);
      expect(withoutName(refused, name)).toBe(withoutName(await define(OTHER, 'refused', unknown), absent));
      const accepted = await define(OWN, `uses-${name}-${JSON.stringify(content).length}`, content);
      expect(accepted.status).toBe(201);
    },
  );

  it('S-20 GET /v1/models/resolve answers for a preset of another namespace like for an unknown one', async () => {
    expect((await send(OWN, 'GET', '/v1/models/resolve?model=vip')).status).toBe(200);
    const hidden = await send(OTHER, 'GET', '/v1/models/resolve?model=private');
    const unknown = await send(OTHER, 'GET', '/v1/models/resolve?model=absent-1');
    expect([hidden.status, withoutName(hidden, 'private')]).toEqual([unknown.status, withoutName(unknown, 'absent-1')]);
  });

  it('S-20 a run of a program works only in its namespaces, and fails like a run of an unknown program elsewhere', async () => {
    const run = async (namespace: string, wanted: string): Promise<Record<string, unknown>> => {
      const name = `runs-${wanted}`;
      await define(namespace, name, { provider: 'subprocess', settings: { program: wanted } });
      const body = { definition: name, input: '{"does":"answer"}' };
      return (await send(namespace, 'POST', '/v1/runs?waitMs=20000', body)).body;
    };
    expect(await run(OWN, 'closed')).toMatchObject({ state: 'completed' });
    expect(await run(OTHER, 'open')).toMatchObject({ state: 'completed' });
    const message = async (wanted: string): Promise<string> =>
      ((await run(OTHER, wanted))['result'] as { error: { message: string } }).error.message;
    expect((await message('closed')).replace('closed', 'NAME')).toBe(
      (await message('absent')).replace('absent', 'NAME'),
    );
    expect(await message('closed')).toContain('The operator allows: open.');
  });

  it('S-20 an agent without a list of tools gets the tools of a server only in its namespaces', async () => {
    for (const [namespace, isOffered] of [
      [OWN, true],
      [OTHER, false],
    ] as const) {
      await define(namespace, 'all-tools', {});
      const effective = await text(namespace, '/v1/definitions/all-tools/effective');
      expect(effective.includes('mcp__docs__')).toBe(isOffered);
    }
  });
});
