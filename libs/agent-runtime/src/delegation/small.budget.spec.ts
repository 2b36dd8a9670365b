import { type AgentResult, message, type ModelRequest } from '#rollcall/providers';
import { callTool, say, ScriptedModel, using } from '#rollcall/providers/testing';
import { ReactAgent } from '../agents/react.agent.js';
import type { ToolFilter } from '../tools/tool.filter.js';
import { defaultMiddleware } from '../middleware/default.middleware.js';
import { ModelCircuit } from '../middleware/model-circuit.middleware.js';
import { InMemorySpending } from '../testing/in-memory.spending.js';
import { TestDelegation } from '../testing/test-delegation.js';
import { aRun } from '../testing/tool-calls.js';
import { estimateTools } from '../tokens/token.estimate.js';
import { ToolSet } from '../tools/tool.set.js';
import { AgentFactoryRegistry } from './agent.factories.js';

const LOG = { log: () => undefined, warn: () => undefined, error: () => undefined };
const NAMES = ['list_agents', 'delegate_to_agent', 'spawn_agents', 'spawn_subagent'];
const TOKENS = 500;

/** Runs a parent with this budget. Each of its model calls uses all that it may use. */
async function run(toolFilter?: ToolFilter): Promise<{ result?: AgentResult; requests: ModelRequest[]; used: number }> {
  const spending = new InMemorySpending();
  const model = new ScriptedModel(({ toolChoice, settings }) => {
    const step = toolChoice === 'none' ? say('What I know.') : callTool('spawn_agents', { tasks: [TASK] });
    return using({ inputTokens: 40, outputTokens: settings?.maxOutputTokens }, step);
  });
  const middleware = defaultMiddleware({ log: LOG, circuit: new ModelCircuit(), budget: { spending } });
  const parts = { name: 'boss', description: '', instructions: '', model, options: { toolFilter } };
  const { run: runMiddleware, model: modelMiddleware } = middleware;
  const boss = new ReactAgent({ ...parts, runMiddleware, modelMiddleware });
  boss.setRegistry(new AgentFactoryRegistry());
  let result: AgentResult | undefined;
  for await (const event of boss.handle(message('Begin.'), { context: aRun(), budget: { tokens: TOKENS } }))
    if (event.type === 'finished') ({ result } = event);
  const { subtree } = await spending.usageOf('default', 'run-1');
  return { result, requests: model.calls.map(({ request }) => request), used: subtree.tokens };
}
const TASK = { agent: 'nobody', task: 'x' };
const namesIn = ({ tools = [] }: ModelRequest): string[] => tools.map(({ name }) => name);

describe('a run with 500 tokens', () => {
  it('B2 S2.4 can declare all delegation tools, with room for its conversation and its answer', () => {
    const { declarations } = ToolSet.of([new TestDelegation().box], aRun());
    expect(declarations.map(({ name }) => name)).toEqual(NAMES);
    expect(estimateTools(declarations)).toBeLessThanOrEqual(340);
  });

  it('B2 S2.4 pays its final call with all delegation tools', async () => {
    const { result, requests, used } = await run();
    expect(requests.map(namesIn)).toEqual([NAMES]);
    expect(result?.parts).toMatchObject([{ text: 'What I know.' }]);
    expect(used).toBeLessThanOrEqual(TOKENS);
  });

  it('B2 S2.4 delegates with one delegation tool, and still pays its final call', async () => {
    const { result, requests, used } = await run({ allow: ['spawn_agents'] });
    expect(requests.map(({ toolChoice }) => toolChoice)).toEqual([undefined, 'none']);
    expect(result?.parts).toMatchObject([{ text: 'What I know.' }]);
    expect(used).toBeLessThanOrEqual(TOKENS);
  });
});
