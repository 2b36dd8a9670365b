import { existsSync } from 'node:fs';
import { Secret } from '../../secret.js';
import { describeAgentProviderContract } from '../../testing/agent-provider.contract.js';
import { FakeClaudeSdk } from '../../testing/fake-claude.sdk.js';
import { expectNoOpenResources, openResources } from '../../testing/open-resources.js';
import { isAlive, FakeProgram } from '../../testing/fake-program.js';
import { until } from '#rollcall/test-support';
import type { Agent, AgentEvent, HandleOptions } from '../agent.js';
import { ClaudeSdkAgentProvider, type ClaudeSdkProviderOptions } from './claude-sdk.agent-provider.js';

const KEY = 'sk-ant-0123456789';

describeAgentProviderContract('claude-sdk', {
  agentType: 'sdk',
  statesUsage: false, // its usage has its own shape, checked below
  make: async (name) => {
    const program = new FakeProgram();
    const sdk = new FakeClaudeSdk(program.args);
    const provider = new ClaudeSdkAgentProvider({ secrets: () => undefined, load: async () => sdk });
    return {
      agent: await provider.createAgent({ name }),
      play: (scenario) => JSON.stringify(scenario),
      begunCalls: () => program.begun,
      busyCalls: () => program.busy,
      close: async () => {
        await until('no process is left', () => !program.pids.some(isAlive));
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
  const made: Agent[] = [];
  let before: Map<string, number>;
  beforeEach(() => void (before = openResources()));
  afterEach(async () => {
    await Promise.all(made.splice(0).map(async (agent) => await agent.shutdown()));
    await expectNoOpenResources(before);
  });
  afterAll(() => program.remove());

  const make = async (settings: object, options: Partial<ClaudeSdkProviderOptions> = {}): Promise<Agent> => {
    const secrets = (name: string): Secret | undefined => (name === 'ANTHROPIC_API_KEY' ? new Secret(KEY) : undefined);
    const provider = new ClaudeSdkAgentProvider({ secrets, load: async () => sdk, ...options });
    const agent = await provider.createAgent({ name: 'ada', settings });
    made.push(agent);
    return agent;
  };
  /** One whose SDK says exactly this. */
  const saying = async (...messages: object[]): Promise<Agent> => {
    const query = async function* (): AsyncGenerator {
      yield* messages;
    };
    return await make({}, { load: async () => ({ query }) });
  };
  const last = async (agent: Agent, scenario: object, options?: HandleOptions): Promise<AgentEvent | undefined> => {
    let event: AgentEvent | undefined;
    for await (const one of agent.handle({ text: JSON.stringify(scenario) }, options)) event = one;
    return event;
  };

  it('charges all models that took part, subagents included', async () => {
    const end = await last(await make({}), { does: 'answer', pieces: ['x'] });
    expect(end).toMatchObject({
      result: {
        usage: { inputTokens: 17, outputTokens: 22, cacheReadTokens: 5, cacheWriteTokens: 1, costMicroUsd: 12_600 },
      },
    });
    expect(end).toMatchObject({ result: { usage: { byModel: { 'claude-haiku': { costMicroUsd: 100 } } } } });
  });

  it('says what a failed run has used, and not its key', async () => {
    const failed = last(await make({}), { does: 'fail', message: `too hard for ${KEY}` });
    await expect(failed).rejects.toMatchObject({
      code: 'AGENT_FAILED',
      usage: { costMicroUsd: 12_600 },
      message: expect.stringContaining('too hard for [secret]'),
    });
  });

  it('is told its limits, and nothing of the settings of this machine', async () => {
    const agent = await make(
      { instructions: 'Be brief.', tools: ['Read'], maxTurns: 3 },
      { allowedTools: ['Read', 'Grep'] },
    );
    await last(agent, { does: 'answer', pieces: ['x'] }, { budget: { microUsd: 250_000 } });
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

  it('takes a message for words only: no command, no file that it mentions, whatever the operator sets', async () => {
    const agent = await make({}, { env: { CLAUDE_CODE_DISABLE_FILE_MENTIONS: '', LANG: 'C' } });
    await last(agent, { does: 'answer', pieces: ['x'] });
    expect(sdk.prompts.at(-1)).toMatch(/^\n/); // a command would have to begin with its slash
    expect(sdk.queries.at(-1)).toMatchObject({
      extraArgs: { 'disable-slash-commands': null },
      env: { CLAUDE_CODE_DISABLE_ATTACHMENTS: '1', CLAUDE_CODE_DISABLE_FILE_MENTIONS: '1', LANG: 'C' },
    });
  });

  it('keeps what it keeps in a folder of its own, which goes with it', async () => {
    const agent = await make({});
    await last(agent, { does: 'answer', pieces: ['x'] });
    const query = sdk.queries.at(-1);
    const folder = query?.env['CLAUDE_CONFIG_DIR'] ?? '';
    expect([existsSync(folder), query?.cwd]).toEqual([true, folder]);
    await agent.shutdown();
    expect(existsSync(folder)).toBe(false);
  });

  it.each([
    [{ subtype: 'error_max_turns', errors: ['Reached maximum number of turns (1)'] }, 'AGENT_LIMIT_REACHED', 'caller'],
    [{ subtype: 'error_max_budget_usd', errors: ['Reached maximum budget'] }, 'AGENT_LIMIT_REACHED', 'caller'],
    [{ subtype: 'success', result: 'Invalid API key', api_error_status: 401 }, 'AGENT_CREDENTIAL_REFUSED', 'operator'],
    [{ subtype: 'success', result: 'Slow down', api_error_status: 429 }, 'AGENT_RATE_LIMITED', 'remote'],
    [{ subtype: 'success', result: 'Overloaded', api_error_status: 529 }, 'AGENT_UNREACHABLE', 'remote'],
    [{ subtype: 'error_during_execution', errors: ['boom'], api_error_status: null }, 'AGENT_FAILED', 'remote'],
    [{ subtype: 'success', modelUsage: { m: { inputTokens: 'many' } } }, 'AGENT_ANSWER_UNREADABLE', 'remote'],
  ])('ends as the SDK says: %j is %s', async (end, code, fault) => {
    const agent = await saying({ type: 'result', is_error: true, modelUsage: MODEL_USAGE, ...end });
    const error = await last(agent, {}).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code, fault });
    if (code !== 'AGENT_ANSWER_UNREADABLE') expect(error).toMatchObject({ usage: { costMicroUsd: 12_600 } });
  });

  it('says nothing of what the SDK says in place of the model, of its subagents, or in kinds nobody knows', async () => {
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
    const agent = await saying(
      { type: 'system', subtype: 'init' },
      text('API Error: 529', { error: 'overloaded' }),
      text('child', { parent_tool_use_id: 'tool_1' }),
      { type: 'of next year' },
      text(`answer ${KEY}`),
      { type: 'result', subtype: 'success', is_error: false, result: `answer ${KEY}`, modelUsage: {} },
    );
    const events: AgentEvent[] = [];
    for await (const event of agent.handle({ text: 'hi' })) events.push(event);
    expect(events).toEqual([
      { type: 'text', text: 'answer [secret]' },
      { type: 'finished', result: { outcome: 'completed', text: 'answer [secret]', usage: {} } },
    ]);
  });

  it('is usable with its package and a credential, and says what is missing', () => {
    const facts = (options: Partial<ClaudeSdkProviderOptions>): (boolean | undefined)[] | undefined =>
      new ClaudeSdkAgentProvider({ secrets: () => undefined, ...options }).describe().needs?.map(({ met }) => met);
    expect(facts({})).toEqual([false, false]);
    expect(facts({ isInstalled: () => true, secrets: () => new Secret(KEY) })).toEqual([true, true]);
    expect(facts({ isInstalled: () => true, env: { CLAUDE_CODE_USE_BEDROCK: '1' } })).toEqual([true, true]);
  });

  it('gets no tool that the operator did not allow', async () => {
    await expect(make({ tools: ['Bash'] }, { allowedTools: ['Read'] })).rejects.toThrow(/does not allow: Bash/);
  });

  it('is not made without its package, and the error says how to install it', async () => {
    await expect(make({}, { load: undefined })).rejects.toMatchObject({
      code: 'AGENT_PACKAGE_MISSING',
      message: expect.stringMatching(/npm install --no-save @anthropic-ai\/claude-agent-sdk@\^0\.3/),
    });
    await expect(make({}, { load: async () => ({}) })).rejects.toMatchObject({ code: 'AGENT_PACKAGE_MISSING' });
  });
});
