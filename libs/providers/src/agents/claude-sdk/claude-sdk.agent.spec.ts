import { existsSync } from 'node:fs';
import { until } from '#rollcall/test-support';
import { Secret } from '../../secrets/secret.js';
import { describeAgentProviderContract } from '../../testing/agent-provider.contract.js';
import { FakeClaudeSdk } from '../../testing/fake-claude.sdk.js';
import { FakeProgram, isAlive } from '../../testing/fake-program.js';
import { expectNoOpenResources, openResources } from '../../testing/open-resources.js';
import type { Agent, AgentEvent, HandleOptions } from '../agent.js';
import { message, textPart } from '../content.part.js';
import { ClaudeSdkAgentProvider, type ClaudeSdkProviderOptions } from './claude-sdk.agent-provider.js';

const KEY = 'sk-ant-0123456789';

describeAgentProviderContract('claude-sdk', {
  agentType: 'sdk',
  supports: ['streaming', 'stops'], // the SDK reports usage in another format, which another test checks
  make: async (name) => {
    const program = new FakeProgram();
    const sdk = new FakeClaudeSdk(program.args);
    const provider = new ClaudeSdkAgentProvider({ secrets: () => undefined, load: async () => sdk, user: 'same' });
    return {
      agent: await provider.createAgent({ name }),
      play: (scenario) => JSON.stringify(scenario),
      begunCalls: () => program.begun,
      busyCalls: () => program.busy,
      close: async () => {
        await until('all processes have ended', () => !program.pids.some(isAlive));
        program.remove();
      },
    };
  },
});

describe('S1.10 a claude-sdk agent', () => {
  const MODEL_USAGE = {
    'claude-opus': {
      inputTokens: 10,
      outputTokens: 20,
      cacheReadInputTokens: 5,
      cacheCreationInputTokens: 1,
      costUSD: 0.0125,
    },
    'claude-haiku': {
      inputTokens: 1,
      outputTokens: 2,
      cacheReadInputTokens: 0,
      cacheCreationInputTokens: 0,
      costUSD: 0.0001,
    },
  };
  const program = new FakeProgram();
  const sdk = new FakeClaudeSdk(program.args, MODEL_USAGE);
  const agents: Agent[] = [];
  let before: Map<string, number>;
  beforeEach(() => void (before = openResources()));
  afterEach(async () => {
    await Promise.all(agents.splice(0).map(async (agent) => await agent.shutdown()));
    await expectNoOpenResources(before);
  });
  afterAll(() => program.remove());

  const create = async (settings: object, options: Partial<ClaudeSdkProviderOptions> = {}): Promise<Agent> => {
    const secrets = (name: string): Secret | undefined => (name === 'ANTHROPIC_API_KEY' ? new Secret(KEY) : undefined);
    const provider = new ClaudeSdkAgentProvider({ secrets, load: async () => sdk, user: 'same', ...options });
    const agent = await provider.createAgent({ name: 'ada', settings });
    agents.push(agent);
    return agent;
  };
  /** Creates an agent whose SDK sends exactly these messages. */
  const agentWithMessages = async (...messages: object[]): Promise<Agent> => {
    const query = async function* (): AsyncGenerator {
      yield* messages;
    };
    return await create({}, { load: async () => ({ query }) });
  };
  const lastEvent = async (
    agent: Agent,
    scenario: object,
    options?: HandleOptions,
  ): Promise<AgentEvent | undefined> => {
    let event: AgentEvent | undefined;
    for await (const next of agent.handle(message(JSON.stringify(scenario)), options)) event = next;
    return event;
  };

  it('reports the usage of all models, including those of subagents', async () => {
    const end = await lastEvent(await create({}), { does: 'answer', pieces: ['x'] });
    expect(end).toMatchObject({
      result: {
        usage: { inputTokens: 17, outputTokens: 22, cacheReadTokens: 5, cacheWriteTokens: 1, costMicroUsd: 12_600 },
      },
    });
    expect(end).toMatchObject({ result: { usage: { byModel: { 'claude-haiku': { costMicroUsd: 100 } } } } });
  });

  it('reports the usage of a failed run, and redacts its key', async () => {
    const failed = lastEvent(await create({}), { does: 'fail', message: `too hard for ${KEY}` });
    await expect(failed).rejects.toMatchObject({
      code: 'AGENT_FAILED',
      usage: { costMicroUsd: 12_600 },
      message: expect.stringContaining('too hard for [secret]'),
    });
  });

  it('passes its limits, but no settings of this machine, to the SDK', async () => {
    const agent = await create(
      { instructions: 'Be brief.', tools: ['Read'], maxTurns: 3 },
      { allowedTools: ['Read', 'Grep'] },
    );
    await lastEvent(agent, { does: 'answer', pieces: ['x'] }, { budget: { microUsd: 250_000 } });
    expect(sdk.queries.at(-1)).toMatchObject({
      systemPrompt: 'Be brief.',
      tools: ['Read'],
      allowedTools: ['Read'],
      maxTurns: 3,
      maxBudgetUsd: 0.25,
      permissionMode: 'dontAsk',
      settingSources: [],
      strictMcpConfig: true,
      env: { ANTHROPIC_API_KEY: KEY },
    });
  });

  it('disables slash commands, attachments and file mentions in messages, even if the environment enables them', async () => {
    const agent = await create({}, { env: { CLAUDE_CODE_DISABLE_FILE_MENTIONS: '', LANG: 'C' } });
    await lastEvent(agent, { does: 'answer', pieces: ['x'] });
    expect(sdk.prompts.at(-1)).toMatch(/^\n/); // a command must start with a slash
    expect(sdk.queries.at(-1)).toMatchObject({
      extraArgs: { 'disable-slash-commands': null },
      env: { CLAUDE_CODE_DISABLE_ATTACHMENTS: '1', CLAUDE_CODE_DISABLE_FILE_MENTIONS: '1', LANG: 'C' },
    });
  });

  it('sends data as JSON after the text', async () => {
    const query = async function* (): AsyncGenerator {
      yield { type: 'result', subtype: 'success', is_error: false, result: '', modelUsage: {} };
    };
    const prompts: string[] = [];
    const load = async (): Promise<unknown> => ({
      query: ({ prompt }: { prompt: string }) => {
        prompts.push(prompt);
        return query();
      },
    });
    const recording = await create({}, { load });
    for await (const event of recording.handle(message('Look', { a: [1] }))) void event;
    expect(prompts).toEqual(['\nLook\n\n{"a":[1]}']);
  });

  it('stores its files in a separate folder, which is deleted at shutdown', async () => {
    const agent = await create({});
    await lastEvent(agent, { does: 'answer', pieces: ['x'] });
    const query = sdk.queries.at(-1);
    const folder = query?.env['CLAUDE_CONFIG_DIR'] ?? '';
    expect([existsSync(folder), query?.cwd]).toEqual([true, folder]);
    await agent.shutdown();
    expect(existsSync(folder)).toBe(false);
  });

  it.each([
    [{ subtype: 'success', result: 'Invalid API key', api_error_status: 401 }, 'AGENT_CREDENTIAL_REFUSED', 'operator'],
    [{ subtype: 'success', result: 'Slow down', api_error_status: 429 }, 'AGENT_RATE_LIMITED', 'remote'],
    [{ subtype: 'success', result: 'Overloaded', api_error_status: 529 }, 'AGENT_UNREACHABLE', 'remote'],
    [{ subtype: 'error_during_execution', errors: ['boom'], api_error_status: null }, 'AGENT_FAILED', 'remote'],
    [{ subtype: 'success', modelUsage: { m: { inputTokens: 'many' } } }, 'AGENT_ANSWER_UNREADABLE', 'remote'],
  ])('converts the SDK result %j to %s', async (result, code, fault) => {
    const agent = await agentWithMessages({ type: 'result', is_error: true, modelUsage: MODEL_USAGE, ...result });
    const error = await lastEvent(agent, {}).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code, fault });
    if (code !== 'AGENT_ANSWER_UNREADABLE') expect(error).toMatchObject({ usage: { costMicroUsd: 12_600 } });
  });

  it.each([
    ['error_max_turns', 'iterations', 'Reached maximum number of turns (1)'],
    ['error_max_budget_usd', 'budget', 'Reached maximum budget'],
  ])('returns the SDK result %s as stopped, with the reason %s and the text so far', async (subtype, reason, why) => {
    const text = { type: 'assistant', message: { content: [{ type: 'text', text: `So far, ${KEY}` }] } };
    const end = { type: 'result', subtype, is_error: true, errors: [why], modelUsage: MODEL_USAGE };
    const agent = await agentWithMessages(text, end);
    expect(await lastEvent(agent, {})).toMatchObject({
      type: 'finished',
      result: {
        outcome: 'stopped',
        reason,
        detail: why,
        parts: [textPart('So far, [secret]')],
        usage: { costMicroUsd: 12_600 },
      },
    });
    expect(agent.state).toBe('idle');
  });

  it('ignores error texts of the SDK, messages of subagents and unknown message types', async () => {
    const text = (content: string, more: object = {}): object => ({
      type: 'assistant',
      parent_tool_use_id: null,
      message: {
        content: [
          { type: 'text', text: content },
          { type: 'thinking', thinking: 'hm' },
        ],
      },
      ...more,
    });
    const agent = await agentWithMessages(
      { type: 'system', subtype: 'init' },
      text('API Error: 529', { error: 'overloaded' }),
      text('child', { parent_tool_use_id: 'tool_1' }),
      { type: 'unknown' },
      text(`answer ${KEY}`),
      { type: 'result', subtype: 'success', is_error: false, result: `answer ${KEY}`, modelUsage: {} },
    );
    const events: AgentEvent[] = [];
    for await (const event of agent.handle(message('hi'))) events.push(event);
    expect(events).toEqual([
      { type: 'text', text: 'answer [secret]' },
      { type: 'finished', result: { outcome: 'completed', parts: [textPart('answer [secret]')], usage: {} } },
    ]);
  });

  it('requires its package and a credential, and reports which of them is missing', () => {
    const needsMet = (options: Partial<ClaudeSdkProviderOptions>): (boolean | undefined)[] | undefined =>
      new ClaudeSdkAgentProvider({ secrets: () => undefined, ...options }).describe().needs?.map(({ met }) => met);
    expect(needsMet({})).toEqual([false, false]);
    expect(needsMet({ isInstalled: () => true, secrets: () => new Secret(KEY) })).toEqual([true, true]);
    expect(needsMet({ isInstalled: () => true, env: { CLAUDE_CODE_USE_BEDROCK: '1' } })).toEqual([true, true]);
  });

  it('rejects a tool that the operator does not allow', async () => {
    await expect(create({ tools: ['Bash'] }, { allowedTools: ['Read'] })).rejects.toThrow(/does not allow: Bash/);
  });

  it('S-20 the tools of the operator can be restricted to namespaces', async () => {
    const restricted = { allowedTools: ['Read'], namespaces: ['team-a'], user: 'same' };
    const provider = new ClaudeSdkAgentProvider({ secrets: () => undefined, load: async () => sdk, ...restricted });
    const config = { name: 'ada', settings: { tools: ['Read'] } };
    agents.push(await provider.createAgent({ ...config, namespace: 'team-a' }));
    for (const namespace of ['team-b', undefined])
      await expect(provider.createAgent({ ...config, namespace })).rejects.toThrow(/does not allow: Read/);
  });

  it('reports a missing package with the install command', async () => {
    await expect(create({}, { load: undefined })).rejects.toMatchObject({
      code: 'AGENT_PACKAGE_MISSING',
      message: expect.stringMatching(/npm install --no-save @anthropic-ai\/claude-agent-sdk@\^0\.3/),
    });
    await expect(create({}, { load: async () => ({}) })).rejects.toMatchObject({ code: 'AGENT_PACKAGE_MISSING' });
  });
});
