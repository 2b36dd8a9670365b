import { Logger } from '@nestjs/common';
import {
  type AgentResult,
  message,
  ModelCatalog,
  type ModelMessage,
  type ModelUsage,
  PresetCatalog,
  ProviderError,
  VendorRegistry,
} from '#rollcall/providers';
import {
  type AgentScenario,
  breakAfter,
  callTool,
  describeAgentProviderContract,
  hangAfter,
  refuse,
  say,
  ScriptedModel,
  type Step as ScriptStep,
  using,
} from '#rollcall/providers/testing';
import { Delegation } from '../delegation/delegation.js';
import { AgentFactoryRegistry, FactoryTargets } from '../delegation/targets/agent.factories.js';
import type { RunContext } from '../loop/run.context.js';
import { type ExecutionOptions, InstalledMiddleware } from '../middleware/default.middleware.js';
import { SkillLibrary } from '../skills/skill.library.js';
import { InMemorySpending } from '../testing/in-memory.spending.js';
import { ToolExecutor } from '../tools/tool.executor.js';
import { checkToolFilter, type ToolFilter } from '../tools/tool.filter.js';
import { defineTool, toolBox } from '../tools/tool.js';
import { DEFAULT_TOOLS_OPTIONS } from '../tools/tools.options.js';
import { NativeAgentProvider } from './native.agent-provider.js';

const search = defineTool({ name: 'search', description: 'Finds a page.', execute: () => 'a page' });
const seen: RunContext[] = [];
const look = defineTool({
  name: 'look',
  description: 'Keeps the context.',
  execute: (_, { run }) => void seen.push(run),
});
const box = toolBox('test', [search, look]);
const catalog = {
  toolboxes: [box],
  resolved: (filter: ToolFilter) => filter,
  checkFilter: (filter: ToolFilter) => checkToolFilter(filter, { tools: ['search', 'look'] }),
};

beforeAll(() => Logger.overrideLogger(false));

function providerOf(
  model: ScriptedModel,
  execution: ExecutionOptions = {},
  delegation?: Delegation,
): NativeAgentProvider {
  const vendors = new VendorRegistry().register({ name: 'fake', needsKey: false, open: () => model });
  const prices = { usdPerMillionTokens: { input: 5, output: 5.5 } };
  const presets = new PresetCatalog({
    default: 'small',
    presets: { small: { vendor: 'fake', model: 'one', ...prices } },
  });
  const models = new ModelCatalog({ vendors, secrets: () => undefined, fetch });
  const executor = new ToolExecutor(DEFAULT_TOOLS_OPTIONS.limits);
  const middleware = new InstalledMiddleware(new InMemorySpending(), execution);
  const skills = new SkillLibrary({ folders: [] });
  return new NativeAgentProvider(presets, models, catalog, executor, skills, middleware, delegation);
}

describeAgentProviderContract('native', {
  agentType: 'in-process',
  supports: ['streaming', 'usage', 'refusals'],
  readsFiles: true,
  failureCodes: { fails: ['MODEL_ANSWER_UNREADABLE'], crashes: ['MODEL_STREAM_BROKEN'] },
  make: async (name) => {
    const model = new ScriptedModel(({ messages }) => stepFor(scenarioIn(messages)));
    return {
      agent: await providerOf(model).createAgent({ name }),
      play: (scenario) => JSON.stringify(scenario),
      begunCalls: () => model.calls.length,
      busyCalls: () => model.inFlight,
      close: async () => await Promise.resolve(),
    };
  },
});

describe('the provider native', () => {
  const native = providerOf(new ScriptedModel([say('hello')]));

  it('S1.7 describes its settings', () => {
    const { settings } = native.describe();
    expect(Object.keys(settings?.['properties'] as object)).toEqual(
      expect.arrayContaining(['instructions', 'model', 'tools', 'maxIterations']),
    );
  });

  it.each([
    ['an unknown setting', { instrucions: 'x' }, 'AGENT_SETTINGS_INVALID'],
    ['an unknown model', { model: 'nope' }, 'MODEL_PRESET_UNKNOWN'],
    ['an iteration cap of 0', { maxIterations: 0 }, 'AGENT_SETTINGS_INVALID'],
    ['an output schema that refers to another document', { outputSchema: { $ref: 'x' } }, 'AGENT_SETTINGS_INVALID'],
    ['an unknown tool (S4.4)', { tools: { allow: ['serch'] } }, 'TOOL_UNKNOWN'],
    ['an unknown skill', { skills: [{ name: 'nope' }] }, 'SKILL_NOT_FOUND'],
  ])('S1.1 rejects %s', async (_name, settings, code) => {
    await expect(native.createAgent({ name: 'ada', settings })).rejects.toMatchObject({ code });
  });

  it('S4.4 offers exactly the allowed tools to the model', async () => {
    const model = new ScriptedModel(() => say('hello'));
    for (const tools of [undefined, { allow: ['search'] }, { allow: [] }, { deny: ['search', 'look'] }]) {
      const agent = await providerOf(model).createAgent({ name: 'ada', settings: { tools } });
      for await (const event of agent.handle({ parts: [{ type: 'text', text: 'hi' }] })) expect(event).toBeDefined();
    }
    const offered = model.calls.map(({ request }) => request.tools?.map(({ name }) => name) ?? []);
    expect(offered).toEqual([['search', 'look'], ['search'], [], []]);
  });

  describe('with the settings of the installation', () => {
    async function resultOf(provider: NativeAgentProvider, settings: object = {}): Promise<AgentResult | undefined> {
      const agent = await provider.createAgent({ name: 'ada', settings });
      for await (const event of agent.handle(message('hi'))) if (event.type === 'finished') return event.result;
      return undefined;
    }

    it('S2.5 S4.6 limits the tree of runs; an agent can set its own depth', async () => {
      const factories = new AgentFactoryRegistry();
      const limits = { maxDelegationDepth: 5, maxDelegationWidth: 6, maxDelegatedRuns: 7 };
      const spending = new InMemorySpending();
      const delegation = new Delegation(
        factories,
        new FactoryTargets(factories),
        spending,
        DEFAULT_TOOLS_OPTIONS,
        limits,
      );
      for (const settings of [{ maxDelegationDepth: undefined }, { maxDelegationDepth: 1 }])
        await resultOf(providerOf(new ScriptedModel([callTool('look', {}), say('done')]), {}, delegation), settings);
      expect(seen.map((run) => run.limits)).toEqual([
        { maxDepth: 5, maxWidth: 6, maxRuns: 7 },
        { maxDepth: 1, maxWidth: 6, maxRuns: 7 },
      ]);
    });

    it('S2.8 limits the time of a run', async () => {
      const hanging = new ScriptedModel([hangAfter('I begin')]);
      expect(await resultOf(providerOf(hanging, { timeoutMs: 20 }))).toMatchObject({
        outcome: 'stopped',
        reason: 'deadline',
      });
    });

    it('S2.8 limits the attempts of a model call', async () => {
      const failing = new ScriptedModel(() => {
        throw new ProviderError('MODEL_OVERLOADED', 'Busy.', { retryable: true });
      });
      await expect(resultOf(providerOf(failing, { retry: { maxAttempts: 1 } }))).rejects.toThrow('Busy.');
      expect(failing.calls).toHaveLength(1);
    });
  });
});

function scenarioIn(messages: readonly ModelMessage[]): AgentScenario {
  const last = messages.findLast(({ role }) => role === 'user');
  const part = last?.role === 'user' ? last.content[0] : undefined;
  return JSON.parse(part?.type === 'text' ? part.text : '') as AgentScenario;
}

function stepFor(scenario: AgentScenario): ScriptStep {
  switch (scenario.does) {
    case 'answer':
      return using(tokensIn(scenario.usage), say(scenario.pieces.join('')));
    case 'refuse':
      return using(tokensIn(scenario.usage), refuse(scenario.message));
    case 'hang':
      return hangAfter(scenario.pieces.join(''));
    case 'crash':
      return breakAfter(scenario.pieces.join(''));
    case 'fail':
      throw new ProviderError('MODEL_ANSWER_UNREADABLE', scenario.message, { retryable: false });
    case 'echo':
    case 'produce':
    case 'show context':
    case 'stop':
      throw new Error(`a model cannot do this: ${scenario.does}`);
  }
}

function tokensIn({ inputTokens, outputTokens }: ModelUsage = {}): ModelUsage {
  return { ...(inputTokens !== undefined && { inputTokens }), ...(outputTokens !== undefined && { outputTokens }) };
}
