import { once } from 'node:events';
import { LocalServer } from '#rollcall/providers/testing';
import { until } from '#rollcall/test-support';
import { type ClientConversation, rollcallClient, answerText } from '../../libs/client/src/index.js';
import { a2aClient, messageTo, send, textOf } from '../support/a2a-client.js';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
import { ExampleRunner, examplesOf } from '../support/doc-example.js';
import { callTool, mcpClient } from '../support/mcp-client.js';

interface RunBody {
  id: string;
  state: string;
  conversationId: string;
  result: { parts: { text: string }[] } | null;
}

let api: TestApi;
let keys: Record<'owner' | 'stranger' | 'viewer' | 'operator', string>;
beforeAll(async () => {
  api = await startApi({ ROLLCALL_EGRESS_ALLOW: '127.0.0.1' });
  keys = {
    owner: await api.given.key('caller'),
    stranger: await api.given.key('caller'),
    viewer: await api.given.key('viewer'),
    operator: await api.given.key('operator'),
  };
  const body = { name: 'listener', content: { description: 'Remembers.' } };
  await api.call('POST', '/v1/definitions', { body });
});
afterAll(async () => await api.stop());

const RECALL = 'What did I say?';
async function say(input: string, conversationId: unknown, key = keys.owner): Promise<Answer<RunBody>> {
  const body = { definition: 'listener', input, conversationId };
  return await api.call<RunBody>('POST', '/v1/runs?waitMs=20000', { key, body });
}
const answerTo = async (...given: Parameters<typeof say>): Promise<string | undefined> =>
  (await say(...given)).body.result?.parts[0]?.text;
const read = async (id: string, key = keys.owner, query = ''): Promise<Answer> =>
  await api.call('GET', `/v1/conversations/${encodeURIComponent(id)}${query}`, { key });

describe('a conversation', () => {
  it('M-1 S2.10 is the same one over REST, A2A and MCP', async () => {
    expect((await say('by REST', 'all')).body).toMatchObject({ state: 'completed', conversationId: 'all' });
    const a2a = await a2aClient(`${api.url}/a2a/agents/listener`, keys.owner, 'JSONRPC');
    const task = await send(a2a, messageTo('by A2A', { contextId: 'all' }));
    expect(task.contextId).toBe('all');
    const mcp = await mcpClient(`${api.url}/mcp`, keys.owner);
    const called = await callTool(mcp, 'run_agent', { agent: 'listener', input: RECALL, conversationId: 'all' });
    expect(called.text).toContain('You said: by REST, by A2A');
    await mcp.close();
    expect(textOf(await send(a2a, messageTo(RECALL, { contextId: 'all' })))).toBe(
      `You said: by REST, by A2A, ${RECALL}`,
    );
    expect(await answerTo(RECALL, 'all', keys.stranger)).toBe('You said: nothing yet');
    expect(await answerTo(RECALL, undefined)).toBe('You said: nothing yet');
  });

  it('S2.10 is continued by an agent that was spawned again', async () => {
    const body = { definition: 'listener', name: 'spawned' };
    const { status } = await api.call('POST', '/v1/runtime/agents', { body });
    expect(status).toBeLessThan(300);
    const ask = async (input: string): Promise<unknown> =>
      (
        await api.call<RunBody>('POST', '/v1/runs?waitMs=20000', {
          key: keys.owner,
          body: { agent: 'spawned', input, conversationId: 'moved' },
        })
      ).body.result?.parts[0]?.text;
    await until('the agent is listed', async () => (await ask('hello')) !== undefined);
    await api.call('DELETE', '/v1/runtime/agents/spawned');
    await api.call('POST', '/v1/runtime/agents', { body });
    await until('the new instance remembers', async () => String(await ask(RECALL)).startsWith('You said: hello'));
  });

  it('S2.10 has its messages, runs and cost, in pages', async () => {
    for (const text of ['one', 'two', 'three']) await say(text, 'read/me?');
    const { status, body } = await read('read/me?', keys.owner, '?limit=2');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      id: 'read/me?',
      agentId: 'listener',
      runs: 3,
      openRuns: 0,
      items: [
        {
          state: 'completed',
          messages: [
            { role: 'user', parts: [{ text: 'three' }] },
            { role: 'agent', parts: [{ text: 'You said: three' }] },
          ],
        },
        { messages: [{ parts: [{ text: 'two' }] }, {}] },
      ],
    });
    expect((body['cost'] as { tokens: number }).tokens).toBeGreaterThan(0);
    const next = await read('read/me?', keys.owner, `?limit=2&cursor=${String(body['nextCursor'])}`);
    expect(next.body).toMatchObject({ nextCursor: null, items: [{ messages: [{ parts: [{ text: 'one' }] }, {}] }] });
    const list = await api.call<{ items: { id: string }[] }>('GET', '/v1/conversations?limit=1', { key: keys.owner });
    expect(list.body).toMatchObject({ items: [{ id: 'read/me?', runs: 3 }], nextCursor: expect.any(String) as string });
  });

  it.each(['', 'x'.repeat(257), 7, null, {}])('S2.10 cannot have the id %j', async (id) => {
    expect((await say('Hello.', id)).status).toBe(id === null ? 202 : 400);
  });

  it('S2.10 has the id that its remote agent receives', async () => {
    const server = await LocalServer.start((_request, response) => {
      const finished = { outcome: 'completed', text: 'ok', usage: {}, conversationId: 'its own' };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(finished));
    });
    await api.given.agent({ agentId: 'far', endpoint: server.url, capabilities: ['far'] });
    for (const input of ['one', 'two']) {
      const body = { agent: 'far', input, conversationId: 'remote' };
      expect((await api.call('POST', '/v1/runs?waitMs=20000', { key: keys.owner, body })).body).toMatchObject({
        state: 'completed',
      });
    }
    await server.close();
    const received = server.requests.map(({ body }) => (body as { conversationId: unknown }).conversationId);
    expect(received).toEqual(['remote', 'its own']);
  });
});

describe('a conversation of another principal', () => {
  it('S2.10 S-20 gets the answer of an unknown one, unless the caller sees all runs', async () => {
    await say('secret', 'hidden');
    const [foreign, unknown] = [await read('hidden', keys.stranger), await read('nobody', keys.stranger)];
    const shape = ({ status, body }: Answer): unknown => [
      status,
      body['code'],
      String(body['detail']).replace(/"\w+"/, ''),
    ];
    expect(shape(foreign)).toEqual(shape(unknown));
    expect(foreign).toMatchObject({ status: 404, body: { code: 'CONVERSATION_NOT_FOUND' } });
    const remove = async (key: string): Promise<number> =>
      (await api.call('DELETE', '/v1/conversations/hidden', { key })).status;
    expect(await remove(keys.stranger)).toBe(404);
    expect((await read('hidden', keys.viewer)).status).toBe(200);
    expect(await remove(keys.viewer)).toBe(403);
    await api.call('POST', '/v1/namespaces', { body: { name: 'team-c' } });
    const elsewhere = await api.issueKeyIn('team-c', 'operator');
    expect((await read('hidden', elsewhere)).status).toBe(404);
    await say('mine', 'hidden', keys.stranger);
    const { body } = await read('hidden', keys.viewer);
    expect((await read('hidden', keys.viewer, `?createdBy=${String(body['createdBy'])}`)).body).toEqual(body);
    expect(await remove(keys.operator)).toBe(204);
    expect((await read('hidden')).status).toBe(404);
    expect(await answerTo(RECALL, 'hidden', keys.stranger)).toBe('You said: mine');
    expect(await answerTo(RECALL, 'hidden')).toBe('You said: nothing yet');
  });
});

describe('docs/conversations.md', () => {
  it('S2.10 its commands work', async () => {
    const examples = new ExampleRunner({ ROLLCALL_URL: api.url, ROLLCALL_KEY: keys.operator });
    for (const code of examplesOf('conversations.md', 'sh')) {
      const { child, output } = examples.script(code);
      const [status] = (await once(child, 'exit')) as [number];
      expect([status, output().includes('"code"'), output()]).toEqual([0, false, expect.any(String)]);
      if (code.includes('send()')) expect(output()).toContain('You said: My name is Ada.');
    }
    examples.stop();
    expect((await read('chat-1', keys.operator)).status).toBe(404);
  });

  it('S2.10 the client sends messages of a conversation', async () => {
    const client = rollcallClient({ url: api.url, credential: keys.owner });
    const chat: ClientConversation = client.conversation('client', { definition: 'listener' });
    await chat.send('My name is Ada.').result();
    expect(answerText(await chat.send(RECALL).result())).toBe('You said: My name is Ada.');
    expect((await client.conversations.get('client').page()).runs).toBe(2);
  });
});
