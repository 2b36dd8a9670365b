import { z } from 'zod';
import {
  type AgentEvent,
  type AgentMessage,
  type AgentResult,
  type ContentPart,
  type HandleOptions,
  message,
  textPart,
  userMessage,
} from '#rollcall/providers';
import {
  callTool,
  expectNoOpenResources,
  openResources,
  runOutOfTokens,
  say,
  scripted,
  type ScriptedModel,
  think,
  using,
} from '#rollcall/providers/testing';
import type { RunContext } from '../loop/run.context.js';
import { defaultMiddleware } from '../middleware/default.middleware.js';
import { ModelCircuit } from '../middleware/model-circuit.middleware.js';
import { InMemorySpending } from '../testing/in-memory.spending.js';
import { defineTool, type ToolBox, toolBox } from '../tools/tool.js';
import { ReactAgent } from './react.agent.js';
import type { ReactAgentOptions, ReactOptions } from './react.options.js';

const search = defineTool({
  name: 'search',
  description: 'Finds a page.',
  input: z.object({ q: z.string() }),
  execute: ({ q }) => `page about ${q}`,
});

let before: Map<string, number>;
beforeEach(() => void (before = openResources()));
afterEach(async () => await expectNoOpenResources(before));

function agentWith(
  model: ScriptedModel,
  options: ReactOptions = {},
  more: Partial<ReactAgentOptions> = {},
): ReactAgent {
  const identity = { name: 'ada', description: 'Finds pages.', instructions: 'Be short.' };
  const agent = new ReactAgent({ ...identity, model, options, ...more });
  agent.addToolBoxes(toolBox('test', [search]));
  return agent;
}

async function events(
  agent: ReactAgent,
  sent: AgentMessage = message('hi'),
  options?: HandleOptions,
): Promise<AgentEvent[]> {
  const all: AgentEvent[] = [];
  for await (const event of agent.handle(sent, options)) all.push(event);
  return all;
}

async function result(agent: ReactAgent, sent?: AgentMessage, options?: HandleOptions): Promise<AgentResult> {
  const last = (await events(agent, sent, options)).at(-1);
  if (last?.type !== 'finished') throw new Error('the call has no result');
  return last.result;
}

describe('a ReactAgent', () => {
  it('S2.1 answers with the help of its tools, and reports calls, results and text', async () => {
    const model = scripted(think('hm', callTool('search', { q: 'x' })), say('Here it is.'));
    const all = await events(agentWith(model));
    expect(all.map(({ type }) => type)).toEqual(['tool-call', 'tool-result', 'text', 'text', 'text', 'finished']);
    expect(all[0]).toEqual({ type: 'tool-call', id: 'search-1', name: 'search', input: { q: 'x' } });
    expect(all[1]).toEqual({ type: 'tool-result', id: 'search-1', name: 'search', output: 'page about x' });
    const system = model.calls[0]?.request.messages[0];
    expect(system).toMatchObject({ role: 'system' });
    expect(JSON.stringify(system)).toMatch(/ada.*Finds pages.*Be short/);
  });

  it('S2.1 sums the usage of all replies; a count that is unknown for one reply is unknown for the run', async () => {
    const tool = callTool('search', { q: 'x' });
    const known = scripted(
      using({ inputTokens: 10, outputTokens: 2 }, tool),
      using({ inputTokens: 20, outputTokens: 3 }, say('ok')),
    );
    expect((await result(agentWith(known))).usage).toEqual({ inputTokens: 30, outputTokens: 5 });
    const unknown = scripted(using({ inputTokens: 10, outputTokens: 2 }, tool), using({ inputTokens: 20 }, say('ok')));
    expect((await result(agentWith(unknown))).usage).toEqual({ inputTokens: 30 });
  });

  it('S2.1 returns a reached limit as a result with the reason, the partial answer and the usage', async () => {
    const stopped = await result(agentWith(scripted(using({ inputTokens: 1 }, runOutOfTokens('So far')))));
    expect(stopped).toMatchObject({ outcome: 'stopped', reason: 'output-limit', parts: [textPart('So far')] });
    const capped = await result(agentWith(scripted(callTool('search', { q: 'x' })), { maxIterations: 1 }));
    expect(capped).toMatchObject({ outcome: 'stopped', reason: 'iterations', parts: [] });
  });

  it('S2.1 returns structured output as data', async () => {
    const agent = agentWith(scripted(say('{"n":1}')), { outputSchema: z.object({ n: z.number() }) });
    expect(await result(agent)).toMatchObject({ outcome: 'completed', parts: [{ type: 'data', data: { n: 1 } }] });
  });

  it('S2.2 uses the first of two tools with the same name', async () => {
    const other = defineTool({ name: 'search', description: 'Another.', execute: () => 'another' });
    const agent = agentWith(scripted(callTool('search', { q: 'x' }), say('done')));
    agent.addToolBoxes(toolBox('other', [other]));
    expect(agent.toolboxes.map(({ name }) => name)).toEqual(['test', 'other']);
    expect(await events(agent)).toContainEqual(expect.objectContaining({ output: 'page about x' }));
  });

  it('S2.2 returns calls that need an approval', async () => {
    const agent = agentWith(scripted(callTool('pay', { eur: 5 })));
    agent.addToolBoxes(
      toolBox('money', [{ ...search, name: 'pay', needsApproval: true, parse: (value) => ({ ok: true, value }) }]),
    );
    expect(await result(agent)).toMatchObject({ outcome: 'waiting', approvals: [{ tool: 'pay', input: { eur: 5 } }] });
  });

  it('S2.1 continues a conversation after a question', async () => {
    const model = scripted(callTool('ask_caller', { question: 'Which city?' }), say('Rome.'), say('New.'));
    const agent = agentWith(model, { mayAsk: true });
    const asked = await result(agent);
    expect(asked).toMatchObject({ outcome: 'input-required', parts: [textPart('Which city?')] });
    const { conversationId } = asked;
    expect((await result(agent, message('Rome'), { conversationId })).parts).toEqual([textPart('Rome.')]);
    expect(model.calls[1]?.request.messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'user',
    ]);
    await result(agent, message('hello'), { conversationId: 'another' });
    expect(model.calls[2]?.request.messages).toHaveLength(2);
  });

  it('S2.9 passes the run context of the call and the name of the agent to tools', async () => {
    const seen: RunContext[] = [];
    const probe: ToolBox = { name: 'probe', tools: (context) => (seen.push(context), []) };
    const agent = agentWith(scripted(say('one'), say('two')), { maxDelegationDepth: 2, namespace: 'team-a' });
    agent.addToolBoxes(probe);
    await result(agent);
    const context = {
      namespace: 'n',
      rootRunId: 'r1',
      runId: 'r2',
      agentName: 'x',
      ancestry: ['boss'],
      depth: 1,
      deadline: null,
    };
    await result(agent, message('hi'), { context });
    expect(seen[0]).toMatchObject({ namespace: 'team-a', agentName: 'ada', depth: 0, limits: { maxDepth: 2 } });
    expect(seen[0]?.rootRunId).toBe(seen[0]?.runId);
    expect(seen[1]).toMatchObject({ ...context, agentName: 'ada', limits: { maxDepth: 2 } });
  });

  it('B2 limits the run to the budget of the call', async () => {
    const spending = new InMemorySpending();
    const log = { log: () => undefined, warn: () => undefined, error: () => undefined };
    const { run, model: modelMiddleware } = defaultMiddleware({
      log,
      budget: { spending },
      circuit: new ModelCircuit(),
    });
    const model = scripted(
      ...Array.from({ length: 30 }, () =>
        using({ inputTokens: 150, outputTokens: 50 }, callTool('search', { q: 'x' })),
      ),
    );
    const agent = agentWith(model, {}, { runMiddleware: run, modelMiddleware });
    const stopped = await result(agent, message('hi'), { budget: { tokens: 1_000 } });
    expect(stopped).toMatchObject({ outcome: 'stopped', reason: 'budget' });
    expect((stopped.usage.inputTokens ?? 0) + (stopped.usage.outputTokens ?? 0)).toBeLessThanOrEqual(1_000);
  });

  it.each([
    ['maxIterations', 0],
    ['maxIterations', 1.5],
    ['maxDelegationDepth', -1],
    ['contextWindow', 0],
  ])('S2.1 rejects the option %s: %d', (option, value) => {
    const code = expect.objectContaining({ code: 'AGENT_SETTINGS_INVALID' });
    expect(() => agentWith(scripted(), { [option]: value })).toThrow(code);
  });
});

describe('a message to a ReactAgent', () => {
  const received = async (...parts: ContentPart[]): Promise<unknown> => {
    const model = scripted(say('ok'));
    await result(agentWith(model), { parts });
    return model.calls[0]?.request.messages[1];
  };
  const bytes = Buffer.from('Grüße').toString('base64');

  it('S2.1 passes text, data, images and text files to the model', async () => {
    expect(await received(textPart('hello'))).toEqual(userMessage('hello'));
    expect(await received({ type: 'data', data: { a: 1 } })).toEqual(userMessage('<data>\n{"a":1}\n</data>'));
    expect(await received({ type: 'file', bytes, mediaType: 'image/png', name: 'a.png' })).toEqual({
      role: 'user',
      content: [{ type: 'file', mediaType: 'image/png', data: bytes, filename: 'a.png' }],
    });
    expect(JSON.stringify(await received({ type: 'file', bytes, mediaType: 'text/csv' }))).toContain('Grüße');
  });

  it('S2.1 mentions files that the model cannot read', async () => {
    const binary = await received({ type: 'file', bytes, mediaType: 'application/zip', name: 'a.zip' });
    expect(JSON.stringify(binary)).toMatch(/a\.zip.*application\/zip.*cannot read/);
    const remote = await received({ type: 'file', url: 'https://files.example/b', mediaType: 'image/png' });
    expect(JSON.stringify(remote)).toContain('https://files.example/b');
  });

  it('S2.1 rejects an empty message', async () => {
    const agent = agentWith(scripted());
    await expect(result(agent, { parts: [textPart(' ')] })).rejects.toMatchObject({ code: 'AGENT_REQUEST_REFUSED' });
  });
});
