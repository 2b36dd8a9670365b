import type { Client, Progress } from '@modelcontextprotocol/client';
import { until } from '#rollcall/test-support';
import { FakeA2aServer } from '#rollcall/providers/testing';
import { permissionsOf, ROLES } from '../../apps/api/src/auth/permissions.js';
import { startApi, type TestApi } from '../support/api.js';
import { exampleOf, examplesOf, ExampleRunner } from '../support/doc-example.js';
import { callTool, ERAS, type Facts, mcpClient, TOOLS } from '../support/mcp-client.js';
import { TestAgents } from '../support/test-agents.js';

let api: TestApi;
/** A replica that executes no runs. */
let other: TestApi;
let agents: TestAgents;
let remote: FakeA2aServer;
let key: string;
beforeAll(async () => {
  // the remote agent sends no heartbeats
  api = await startApi({ ROLLCALL_EGRESS_ALLOW: '127.0.0.1', ROLLCALL_HEARTBEAT_EVERY: '10m' });
  other = await api.replica({ ROLLCALL_RUNS_MAX: '0' });
  agents = new TestAgents();
  for (const replica of [api, other]) agents.install(replica);
  await agents.define(api);
  key = await api.given.key('caller');
  const content = { description: 'Echoes.', instructions: 'Echo.', capabilities: ['text.echo'] };
  await api.call('POST', '/v1/definitions', { body: { name: 'echo', content } });
  remote = await FakeA2aServer.start();
  const facts = { endpoint: remote.url, agentCard: { name: 'Remote', description: 'Copies.' } };
  await api.given.agent({ agentId: 'remote:1', name: 'Remote', capabilities: ['files.copy'], ...facts });
});
beforeEach(() => agents.reset());
afterAll(async () => {
  agents.finish();
  await other.stop();
  await api.stop();
  await remote.close();
});

const at = (on: TestApi = api): string => `${on.url}/mcp`;

describe.each(ERAS)('MCP with a client of %s', (era) => {
  const connect = async (url = at(), by = key): Promise<Client> => await mcpClient(url, by, { era });

  it('S3.12 lists the tools in a fixed order, with strict schemas', async () => {
    const { tools } = await (await connect(at(), api.adminKey)).listTools();
    expect(tools.map(({ name }) => name)).toEqual(Object.keys(TOOLS));
    for (const { inputSchema, description } of tools) {
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
      expect(description).toMatch(/^[A-Z].+\.$/);
    }
  });

  it('S3.12 P-9 runs an agent on any replica, and returns its answer as content and with the facts of the run', async () => {
    const result = await callTool(await connect(at(other)), 'run_agent', { agent: 'echo', input: 'Hello.' });
    const number = expect.any(Number) as number;
    expect(result).toEqual({
      text: 'You said: Hello.',
      isError: false,
      facts: {
        text: 'You said: Hello.',
        runId: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
        conversationId: result.facts['runId'],
        agentId: 'echo',
        state: 'completed',
        usage: { inputTokens: number, outputTokens: number, costMicroUsd: number },
      },
    });
    expect(await callTool(await connect(), 'get_run', { runId: result.facts['runId'] })).toEqual(result);
  });

  it('S3.12 finds and describes agents', async () => {
    const client = await connect();
    const found = await callTool(client, 'find_agents', { capabilities: ['files.copy'] });
    expect(found.facts).toMatchObject({
      prefer: 'cheapest',
      agents: [{ rank: 1, agentId: 'remote:1', capabilities: ['files.copy'], status: 'active' }],
    });
    expect(JSON.parse(found.text)).toEqual(found.facts);
    const none = await callTool(client, 'find_agents', { capabilities: ['files.copi'] });
    expect(none.facts).toMatchObject({ agents: [], unclaimed: [{ capability: 'files.copi' }] });
    const described = await callTool(client, 'describe_agent', { agent: 'remote:1' });
    expect(described.facts).toMatchObject({ agentId: 'remote:1', description: 'Copies.', status: 'active' });
    const defined = await callTool(client, 'describe_agent', { agent: 'echo' });
    expect(defined.facts).toMatchObject({ agentId: 'echo', description: 'Echoes.', capabilities: ['text.echo'] });
  });

  it('S3.12 a repetition with the same idempotency key returns the run of the first request', async () => {
    const client = await connect();
    const input = { agent: 'echo', input: 'Once.', idempotencyKey: `once ${era}` };
    const first = await callTool(client, 'run_agent', input);
    expect(await callTool(await connect(at(other)), 'run_agent', input)).toEqual(first);
    const reused = await callTool(client, 'run_agent', { ...input, input: 'Twice.' });
    expect(reused).toMatchObject({ isError: true, facts: { code: 'IDEMPOTENCY_KEY_REUSED' } });
  });

  it('S3.12 a run that takes longer than the client waits continues, reports progress, and can be cancelled', async () => {
    const client = await connect();
    const started = await callTool(client, 'run_agent', { agent: 'talker', input: 'Work.', waitMs: 0 });
    const { runId } = started.facts;
    expect(started).toMatchObject({ isError: false, facts: { next: expect.any(String) as string } });
    expect(['queued', 'running']).toContain(started.facts['state']);
    expect(started.text).toContain(`call get_run with {"runId": "${String(runId)}"}`);
    const seen: Progress[] = [];
    const watched = client.callTool(
      { name: 'get_run', arguments: { runId, waitMs: 50_000 } },
      { onprogress: (one: Progress) => seen.push(one) },
    );
    await until('the tool is called', () => seen.some(({ message }) => message === 'Calls the tool work.'));
    expect(await callTool(await connect(at(other)), 'cancel_run', { runId })).toMatchObject({
      isError: false,
      facts: { state: 'cancelled' },
    });
    expect(await watched).toMatchObject({ isError: true, structuredContent: { runId, state: 'cancelled' } });
    expect(seen.map(({ progress }) => progress)).toEqual(
      seen.map(({ progress }) => progress).toSorted((a, b) => a - b),
    );
  });

  it('S3.12 answer_run answers the question of a run', async () => {
    const client = await connect();
    const asked = await callTool(client, 'run_agent', { agent: 'asker', input: 'Build.' });
    expect(asked).toMatchObject({ isError: false, facts: { state: 'waiting', waitingFor: 'input' } });
    expect(asked.text).toMatch(/^Which branch\?.*To answer, call answer_run with/);
    const { runId } = asked.facts;
    const answered = await callTool(client, 'answer_run', { runId, input: 'main' });
    expect(answered).toMatchObject({
      text: 'done',
      isError: false,
      facts: { text: 'done', runId, state: 'completed' },
    });
    const again = await callTool(client, 'answer_run', { runId, input: 'main' });
    expect(again).toMatchObject({ isError: true, facts: { code: 'RUN_FINISHED' } });
  });

  it('S3.12 answer_run approves a tool call with exactly its input', async () => {
    const client = await connect();
    const asked = await callTool(client, 'run_agent', { agent: 'tipper', input: 'Pay.' });
    expect(asked).toMatchObject({ isError: false, facts: { waitingFor: 'approval' } });
    const { runId, approvals } = asked.facts as { runId: string; approvals: Facts[] };
    const { callId, inputHash } = approvals[0] ?? {};
    const decide = async (hash: unknown): Promise<Facts> =>
      (await callTool(client, 'answer_run', { runId, decision: { callId, inputHash: hash, approved: true } })).facts;
    expect(await decide('other')).toMatchObject({ code: 'RUN_DECISION_MISMATCH' });
    expect(await decide(inputHash)).toMatchObject({ state: 'completed' });
    expect(agents.paid).toBe(1);
  });

  it('S3.12 files and data pass through a remote agent without a change', async () => {
    const bytes = Buffer.from([0, 255, 128, 10, 13]).toString('base64');
    const url = 'https://files.example.com/report.pdf';
    const files = [
      { base64: bytes, mediaType: 'image/png', filename: 'a b.png' },
      { base64: bytes, mediaType: 'audio/wav' },
      { base64: bytes, filename: 'c.bin' },
      { url, mediaType: 'application/pdf', filename: 'report.pdf' },
    ];
    const client = await connect();
    const given = { capabilities: ['files.copy'], input: JSON.stringify({ does: 'echo' }), data: { a: [1] }, files };
    const { content } = await client.callTool({ name: 'run_agent', arguments: given });
    const uri = expect.stringMatching(/^rollcall:\/\/runs\/[0-9a-f]{32}\/parts\/\d$/) as string;
    expect(content).toEqual([
      { type: 'resource', resource: { uri, mimeType: 'application/json', text: '{"a":[1]}' } },
      { type: 'image', data: bytes, mimeType: 'image/png', _meta: { 'rollcall/filename': 'a b.png' } },
      { type: 'audio', data: bytes, mimeType: 'audio/wav' },
      {
        type: 'resource',
        resource: {
          uri,
          mimeType: 'application/octet-stream',
          blob: bytes,
          _meta: { 'rollcall/filename': 'c.bin' },
        },
      },
      { type: 'resource_link', uri: url, name: 'report.pdf', mimeType: 'application/pdf' },
    ]);
  });

  it('S3.12 errors of tools have a stable code and say what to do', async () => {
    const client = await connect();
    const cases: [string, Facts, string][] = [
      ['run_agent', { agent: 'nobody', input: 'Hello.' }, 'AGENT_NOT_FOUND'],
      ['run_agent', { capabilities: ['nothing'], input: 'Hello.' }, 'RUN_TARGET_UNAVAILABLE'],
      ['run_agent', { agent: 'echo' }, 'VALIDATION_FAILED'],
      ['run_agent', { agent: 'echo', input: 'Hello.', colour: 'red' }, 'VALIDATION_FAILED'],
      ['run_agent', { agent: 'echo', capabilities: ['text.echo'], input: 'Hello.' }, 'VALIDATION_FAILED'],
      ['run_agent', { agent: 'echo', input: 'Hello.', files: [{ base64: 'no base64!' }] }, 'VALIDATION_FAILED'],
      ['run_agent', { agent: 'echo', input: 'Hello.', deadline: '2020-01-01T00:00:00Z' }, 'RUN_DEADLINE_PASSED'],
      ['get_run', { runId: 'a'.repeat(32) }, 'RUN_NOT_FOUND'],
      ['answer_run', { runId: 'A:/ÄÖ', input: 'x' }, 'RUN_NOT_FOUND'],
      ['cancel_run', { runId: 'a'.repeat(32) }, 'RUN_NOT_FOUND'],
      ['find_agents', { prefer: 'biggest' }, 'UNKNOWN_STRATEGY'],
      ['get_budgets', { cursor: 'forged' }, 'CURSOR_INVALID'],
    ];
    for (const [name, input, code] of cases) {
      const { isError, facts, text } = await callTool(client, name, input);
      expect({ name, input, isError, code: facts['code'] }).toEqual({ name, input, isError: true, code });
      expect(text).toMatch(new RegExp(`^${code}: .+\\.$`));
    }
  });

  it('S3.12 a run of another namespace is not found', async () => {
    await api.given.namespace(`foreign-${era}`);
    const foreign = await api.issueKeyIn(`foreign-${era}`, 'operator');
    const { facts } = await callTool(await connect(), 'run_agent', { agent: 'asker', input: 'Build.' });
    const { runId } = facts;
    const client = await connect(at(), foreign);
    for (const name of ['get_run', 'cancel_run'])
      expect(await callTool(client, name, { runId })).toMatchObject({ facts: { code: 'RUN_NOT_FOUND' } });
    const stranger = await connect(at(), await api.given.key('caller'));
    for (const name of ['get_run', 'cancel_run'])
      expect(await callTool(stranger, name, { runId })).toMatchObject({ facts: { code: 'RUN_NOT_FOUND' } });
    const watcher = await connect(at(), await api.issueKeyIn('default', 'caller', 'viewer'));
    expect(await callTool(watcher, 'cancel_run', { runId })).toMatchObject({ facts: { code: 'RUN_FOREIGN' } });
    expect(await callTool(watcher, 'get_run', { runId })).toMatchObject({ facts: { runId, state: 'waiting' } });
  });

  it('S3.12 each agent is one tool at its own address, and this tool also continues its runs', async () => {
    const client = await connect(`${at()}/agents/asker`);
    const { tools } = await client.listTools();
    expect(tools).toMatchObject([{ name: 'asker', description: 'Works.' }]);
    const { facts } = await callTool(client, 'asker', { input: 'Build.' });
    expect(facts).toMatchObject({ agentId: 'asker', waitingFor: 'input', next: expect.stringContaining('call asker') });
    const { runId } = facts;
    expect((await callTool(client, 'asker', { runId, input: 'main' })).text).toBe('done');
    expect(await callTool(client, 'asker', { runId })).toMatchObject({ text: 'done', facts: { runId } });
    const echo = await connect(`${at()}/agents/echo`);
    expect(await callTool(echo, 'echo', { runId })).toMatchObject({ facts: { code: 'RUN_NOT_FOUND' } });
    expect(await callTool(echo, 'echo')).toMatchObject({ facts: { code: 'VALIDATION_FAILED' } });
    const named = await (await connect(`${at()}/agents/${encodeURIComponent('remote:1')}`)).listTools();
    expect(named.tools).toMatchObject([{ name: 'remote_1', title: 'Remote', description: 'Copies.' }]);
  });

  it('S3.12 each role sees the tools that its permissions include', async () => {
    for (const role of ROLES) {
      const by = await api.given.key(role);
      const { tools } = await (await connect(at(), by)).listTools();
      const permissions = permissionsOf([role]);
      const allowed = Object.entries(TOOLS).filter(([, permission]) => permissions.includes(permission));
      expect({ role, tools: tools.map(({ name }) => name) }).toEqual({ role, tools: allowed.map(([name]) => name) });
    }
  });
});

describe('the tour of docs/mcp.md', () => {
  it('S3.12 the commands and the program work as shown', async () => {
    await api.given.namespace('tour');
    const examples = new ExampleRunner({ ROLLCALL_URL: api.url, ROLLCALL_KEY: await api.issueKeyIn('tour', 'admin') });
    const commands = examples.script(examplesOf('mcp.md', 'sh').join('\necho\n'));
    await until('the commands show the answer', () => commands.output().includes('"text":"You said: Hello."'), 60_000);
    const client = new URL('../../node_modules/@modelcontextprotocol/client/dist/index.mjs', import.meta.url);
    const program = examples.node(exampleOf('mcp.md', 'js').replace('@modelcontextprotocol/client', client.href));
    const shown = exampleOf('mcp.md', 'text');
    await until('the program shows its output', () => program.output().length >= shown.length, 60_000);
    expect(program.output()).toBe(shown);
    examples.stop();
  });
});
