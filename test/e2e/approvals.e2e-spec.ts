import { type Task, TaskState } from '@a2a-js/sdk';
import { a2aClient, BINDINGS, messageTo, send } from '../support/a2a-client.js';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
import { callTool, mcpClient } from '../support/mcp-client.js';
import { TestAgents } from '../support/test-agents.js';

interface Pending {
  readonly callId: string;
  readonly inputHash: string;
  readonly approve: string;
}

interface RunBody extends Record<string, unknown> {
  id: string;
  state: string;
  result: { approvals?: Pending[] } | null;
}

const FACTS = 'urn:rollcall:a2a:v1';

let api: TestApi;
/** Executes no runs. */
let other: TestApi;
let agents: TestAgents;
let caller: string;
let operator: string;
beforeAll(async () => {
  api = await startApi();
  other = await api.replica({ ROLLCALL_RUNS_MAX: '0' });
  agents = new TestAgents();
  for (const replica of [api, other]) agents.install(replica);
  await agents.define(api);
  const model = { vendor: 'test', model: 'worker' };
  for (const [name, approve] of [
    ['guarded', { work: 'operator' }],
    ['watched', { work: 'caller' }],
    ['relaxed', { pay: 'caller' }],
  ] as const) {
    const content = {
      description: 'Works.',
      model: name === 'relaxed' ? { ...model, model: 'payer' } : model,
      approve,
    };
    expect(await api.call('POST', '/v1/definitions', { body: { name, content } })).toMatchObject({ status: 201 });
  }
  [caller, operator] = [await api.given.key('caller'), await api.given.key('operator')];
});
beforeEach(() => {
  agents.reset();
  agents.worked.resolve();
});
afterAll(async () => {
  agents.finish();
  await other.stop();
  await api.stop();
});

const start = async (definition: string, key = caller): Promise<RunBody> => {
  const { body } = await api.call<RunBody>('POST', '/v1/runs?waitMs=20000', {
    key,
    body: { definition, input: 'Go.' },
  });
  expect(body).toMatchObject({ state: 'waiting', waitingFor: 'approval' });
  return body;
};
const pendingOf = ({ result }: RunBody): Pending => {
  const [pending] = result?.approvals ?? [];
  if (!pending) throw new Error('no call waits');
  return pending;
};
const decide = async (run: RunBody, key: string, more: object = {}, on = api): Promise<Answer<RunBody>> => {
  const { callId, inputHash } = pendingOf(run);
  const body = { callId, inputHash, approved: true, ...more };
  return await on.call<RunBody>('POST', `/v1/runs/${run.id}/approvals?waitMs=20000`, { key, body });
};

describe('who may decide', () => {
  it.each([
    ['a tool that needs an approval', 'payer', 'operator'],
    ['a tool with approve: caller', 'tipper', 'caller'],
    ['a definition with approve: operator', 'guarded', 'operator'],
    ['a definition with approve: caller', 'watched', 'caller'],
    ['a definition that cannot relax what the tool demands', 'relaxed', 'operator'],
  ] as const)('S-9 %s: the caller of the run only if the demand is caller', async (_of, definition, approver) => {
    const run = await start(definition);
    expect(pendingOf(run)).toMatchObject({ approve: approver });
    const own = await decide(run, caller);
    if (approver === 'caller') expect(own).toMatchObject({ status: 202, body: { state: 'completed' } });
    else {
      expect(own).toMatchObject({ status: 403, body: { code: 'APPROVAL_FORBIDDEN' } });
      expect(own.body['detail']).toContain('Ask somebody with the permission runs:manage to decide.');
      expect(await decide(run, caller, { approved: false })).toMatchObject({ status: 403 });
      expect(agents.paid).toBe(0);
      expect(await decide(run, operator)).toMatchObject({ status: 202, body: { state: 'completed' } });
    }
  });

  it.each(BINDINGS)(
    'S-9 on A2A over %s, the caller of the task cannot decide about a call that demands an operator',
    async (binding) => {
      const url = `${api.url}/a2a/agents/payer`;
      const [mine, theirs] = [await a2aClient(url, caller, binding), await a2aClient(url, operator, binding)];
      const { id, metadata } = await send(mine, messageTo('Pay.'));
      const [{ callId, inputHash } = { callId: '', inputHash: '' }] = (
        (metadata ?? {})[FACTS] as { approvals: Pending[] }
      ).approvals;
      const parts = [{ data: { decision: { callId, inputHash, approved: true } } }];
      const by = async (client: typeof mine): Promise<Task> => await send(client, messageTo('', { taskId: id, parts }));
      await expect(by(mine)).rejects.toThrow('demands the approval of an operator');
      expect(agents.paid).toBe(0);
      expect((await by(theirs)).status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
      expect(agents.paid).toBe(1);
    },
  );

  it('S-9 on MCP, the caller of the run cannot decide about a call that demands an operator', async () => {
    const [mine, theirs] = [await mcpClient(`${api.url}/mcp`, caller), await mcpClient(`${api.url}/mcp`, operator)];
    const run = await start('payer');
    const { callId, inputHash } = pendingOf(run);
    const given = { runId: run.id, decision: { callId, inputHash, approved: true } };
    expect(await callTool(mine, 'answer_run', given)).toMatchObject({
      isError: true,
      facts: { code: 'APPROVAL_FORBIDDEN' },
    });
    expect(agents.paid).toBe(0);
    expect(await callTool(theirs, 'answer_run', given)).toMatchObject({ facts: { state: 'completed' } });
    expect(agents.paid).toBe(1);
    for (const client of [mine, theirs]) await client.close();
  });
});

describe('a decision', () => {
  it('S-9b pays once if it is sent twice and the model repeats the call with the same id and input', async () => {
    const run = await start('repeater');
    const decided = await decide(run, operator);
    expect(decided).toMatchObject({ status: 202, body: { state: 'waiting', waitingFor: 'approval' } });
    expect(agents.paid).toBe(1);
    const [one, two] = [pendingOf(run), pendingOf(decided.body)];
    expect([one.callId, one.inputHash.split('.')[0]]).toEqual([two.callId, two.inputHash.split('.')[0]]);
    expect(one.inputHash).not.toBe(two.inputHash);
    expect(await decide(run, operator)).toMatchObject({ status: 202, body: { state: 'waiting' } });
    expect(agents.paid).toBe(1);
    expect(await decide(decided.body, operator)).toMatchObject({ status: 202, body: { state: 'completed' } });
    expect(agents.paid).toBe(2);
    expect(await decide(run, operator)).toMatchObject({ status: 202, body: { state: 'completed' } });
    expect(await decide(run, operator, { approved: false })).toMatchObject({
      status: 409,
      body: { code: 'RUN_DECISION_MISMATCH' },
    });
    expect(agents.paid).toBe(2);
  });

  it('S-9 of ten that arrive at two replicas at once, one wins; the same ones repeat it, and the others get 409', async () => {
    const run = await start('payer');
    const answers = await Promise.all(
      Array.from(
        { length: 10 },
        async (_, n) => await decide(run, operator, { approved: n % 2 === 0 }, n < 5 ? api : other),
      ),
    );
    const of = (approves: boolean): number[] =>
      answers.filter((_, n) => (n % 2 === 0) === approves).map(({ status }) => status);
    const approved = of(true)[0] === 202;
    expect(of(approved)).toEqual([202, 202, 202, 202, 202]);
    expect(of(!approved)).toEqual([409, 409, 409, 409, 409]);
    expect(agents.paid).toBe(approved ? 1 : 0);
  });
});
