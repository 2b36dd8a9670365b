import { Secret } from '../../secret.js';
import { describeAgentProviderContract } from '../../testing/agent-provider.contract.js';
import { ObedientClaudeSdk } from '../../testing/obedient-claude.sdk.js';
import { isAlive, ObedientProgram } from '../../testing/obedient-program.js';
import { until } from '../../testing/until.js';
import type { Agent, AgentEvent, HandleOptions } from '../agent.js';
import { ClaudeSdkAgentProvider, type ClaudeSdkProviderOptions } from './claude-sdk.agent-provider.js';

const KEY = 'sk-ant-0123456789';

describeAgentProviderContract('claude-sdk', {
  agentType: 'sdk',
  statesUsage: false, // its usage has its own shape, checked below
  make: async (name) => {
    const program = new ObedientProgram();
    const sdk = new ObedientClaudeSdk(program.args);
    const provider = new ClaudeSdkAgentProvider({ secrets: () => undefined, load: async () => sdk });
    return {
      agent: await provider.createAgent({ name }),
      play: (scenario) => JSON.stringify(scenario),
      begunCalls: () => program.begun,
      busyCalls: () => program.busy,
      close: async () => {
        await until('no process is left', () => !program.pids.some(isAlive), 1_000);
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
  const program = new ObedientProgram();
  const sdk = new ObedientClaudeSdk(program.args, MODEL_USAGE);
  afterAll(() => program.remove());

  const make = async (settings: object, options: Partial<ClaudeSdkProviderOptions> = {}): Promise<Agent> => {
    const secrets = (name: string): Secret | undefined => (name === 'ANTHROPIC_API_KEY' ? new Secret(KEY) : undefined);
    const provider = new ClaudeSdkAgentProvider({ secrets, load: async () => sdk, ...options });
    return await provider.createAgent({ name: 'ada', settings });
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

  it('gets no tool that the operator did not allow', async () => {
    await expect(make({ tools: ['Bash'] }, { allowedTools: ['Read'] })).rejects.toThrow(/does not allow: Bash/);
  });

  it('is not made without its package, and the error says how to install it', async () => {
    const made = make({}, { load: undefined });
    await expect(made).rejects.toMatchObject({
      code: 'AGENT_PACKAGE_MISSING',
      message: expect.stringContaining('npm install @anthropic-ai/claude-agent-sdk'),
    });
    await expect(make({}, { load: async () => ({}) })).rejects.toMatchObject({ code: 'AGENT_PACKAGE_MISSING' });
  });
});
