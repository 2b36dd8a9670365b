import { type AgentScenario, startFakeHttpAgent } from '#rollcall/providers/testing';
import { startApi, type TestApi } from '../support/api.js';
import { RunFlows } from '../support/run-flows.js';

interface BudgetView {
  id: number;
  usage: { subtree: { tokens: number } };
  reserved: { tokens: number };
}

let api: TestApi;
let external: Awaited<ReturnType<typeof startFakeHttpAgent>>;
beforeAll(async () => {
  api = await startApi(RunFlows.SETTINGS);
  external = await startFakeHttpAgent('ndjson');
  await api.given.agent({ agentId: 'reporter', endpoint: external.url });
});
afterAll(async () => {
  await api.stop();
  await external.close();
});

/** A credential of the role `caller`, and the principal that it stands for. */
async function caller(): Promise<{ key: string; subject: string }> {
  const key = await api.given.key('caller');
  return { key, subject: `key:${key.split('_')[1]}` };
}

async function openBudget(kind: string, subject: string | undefined, tokens: number): Promise<number> {
  const body = { kind, subject, limit: { tokens } };
  const opened = await api.call<BudgetView>('POST', '/v1/budgets', { body });
  expect([opened.status, opened.body]).toEqual([201, expect.anything()]);
  return opened.body.id;
}

async function budget(id: number): Promise<[used: number, reserved: number]> {
  const { usage, reserved } = (await api.call<BudgetView>('GET', `/v1/budgets/${id}`)).body;
  return [usage.subtree.tokens, reserved.tokens];
}

/** Runs the external agent, which does what the scenario says. */
async function report(scenario: AgentScenario, key: string): Promise<{ status: number; state: string }> {
  const body = { agent: 'reporter', input: JSON.stringify(scenario) };
  const { status, body: started } = await api.call<{ id: string }>('POST', '/v1/runs', { body, key });
  if (status >= 300) return { status, state: 'rejected' };
  const ended = await api.call<{ state: string }>('GET', `/v1/runs/${started.id}?waitMs=20000`, { key });
  return { status, state: ended.body.state };
}

describe('the budgets of a run', () => {
  it('S-7 the budget of the caller pays for a model, a tool, a delegated run and an external agent', async () => {
    const flows = await RunFlows.prepare(api);
    try {
      const id = await openBudget('caller', flows.caller, 10_000_000);
      const charged: number[] = [];
      for (const flow of ['oneModelCall', 'oneToolCall', 'delegatedRun', 'externalAgent'] as const) {
        const [before] = await budget(id);
        await flows[flow]();
        const [after, reserved] = await budget(id);
        expect([flow, reserved]).toEqual([flow, 0]);
        charged.push(after - before);
      }
      const [model = 0, tool = 0, delegated = 0, agent] = charged;
      expect([model > 0, tool > model, delegated > tool, agent]).toEqual([true, true, true, 32_000]);
    } finally {
      await flows.stop();
    }
  });

  it('S-7 a caller whose budget is used up starts no run', async () => {
    const { key, subject } = await caller();
    await openBudget('caller', subject, 100);
    const usage = { inputTokens: 60, outputTokens: 40 };
    expect(await report({ does: 'answer', pieces: ['x'], usage }, key)).toEqual({ status: 202, state: 'completed' });
    expect(await report({ does: 'answer', pieces: ['x'], usage }, key)).toEqual({ status: 402, state: 'rejected' });
  });

  it('S-6 an agent that reports a huge usage is charged at most ten times its reservation, and the ledger states the number', async () => {
    const { key, subject } = await caller();
    const id = await openBudget('caller', subject, 1_000_000_000);
    const usage = { inputTokens: 1_000_000_000_000, outputTokens: 1 };
    expect(await report({ does: 'answer', pieces: ['x'], usage }, key)).toEqual({ status: 202, state: 'completed' });
    expect(await budget(id)).toEqual([320_000, 0]);
    const { body } = await api.call<{ items: { note: string | null }[] }>('GET', `/v1/budgets/${id}/ledger`);
    expect(JSON.stringify(body)).toContain('Reported: 1000000000000 tokens');
  });
});
