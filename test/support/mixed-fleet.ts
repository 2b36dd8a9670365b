import { type ModelProvider, type ModelRequest, VendorRegistry } from '#rollcall/providers';
import {
  type AgentScenario,
  callTool,
  FakeA2aServer,
  FakeProgram,
  failWith,
  hangAfter,
  legacyJsonRpcWire,
  type LocalServer,
  refuse,
  runOutOfTokens,
  say,
  ScriptedModel,
  startFakeHttpAgent,
  type Step,
  using,
} from '#rollcall/providers/testing';
import type { TestApi } from './api.js';

export type FleetAgent = 'native' | 'a2a' | 'a2a-legacy' | 'http' | 'subprocess';
export const FLEET: readonly FleetAgent[] = ['native', 'a2a', 'a2a-legacy', 'http', 'subprocess'];

/** What an agent does. The text of its message contains the scenario. Only native and A2A agents can ask a question. */
export type FleetScenario = AgentScenario | { does: 'ask'; question: string };

/** One agent of each kind. All of them execute the scenario in the text of their message. */
export class MixedFleet {
  private constructor(
    private readonly a2a: FakeA2aServer,
    private readonly legacy: FakeA2aServer,
    private readonly http: LocalServer,
    private readonly program: FakeProgram,
  ) {}

  static async start(): Promise<MixedFleet> {
    const legacy = await FakeA2aServer.start({ wire: legacyJsonRpcWire });
    return new MixedFleet(await FakeA2aServer.start(), legacy, await startFakeHttpAgent('ndjson'), new FakeProgram());
  }

  /** The settings of the API. */
  get environment(): Record<string, string> {
    const fake = { command: process.execPath, args: this.program.args };
    return {
      ROLLCALL_EGRESS_ALLOW: '127.0.0.1',
      ROLLCALL_PROGRAMS: JSON.stringify({ fake: { ...fake, user: 'same' } }),
    };
  }

  /** Returns the text of a message that makes the agent execute the scenario. */
  static textOf(agent: FleetAgent, scenario: FleetScenario): string {
    const isRemote = agent.startsWith('a2a') && scenario.does === 'ask';
    return JSON.stringify(
      isRemote ? { does: 'end as', state: 'TASK_STATE_INPUT_REQUIRED', says: scenario.question } : scenario,
    );
  }

  async install(api: TestApi): Promise<void> {
    const open = (): ModelProvider => new ScriptedModel(stepOf, 'fleet');
    api.app.nest.get(VendorRegistry, { strict: false }).register({ name: 'fleet', needsKey: false, open });
    const contents: Record<FleetAgent, object> = {
      native: { instructions: 'Work.', model: { vendor: 'fleet', model: 'fleet' }, tools: [], mayAsk: true },
      a2a: { provider: 'a2a', settings: { url: this.a2a.url } },
      'a2a-legacy': { provider: 'a2a', settings: { url: this.legacy.url } },
      http: { provider: 'http', settings: { url: this.http.url } },
      subprocess: { provider: 'subprocess', settings: { program: 'fake' } },
    };
    for (const [name, content] of Object.entries(contents)) await define(api, name, content);
    await define(api, 'single', { ...contents.native, maxConcurrency: 1, whenBusy: 'reject' });
    for (const state of ['drain', 'quarantine']) {
      await api.given.agent({ agentId: state, endpoint: this.http.url });
      await api.call('POST', `/v1/agents/${state}/${state}`, { body: {} });
    }
  }

  /** The number of calls that an agent outside this process is working on. */
  busy(agent: FleetAgent): number {
    if (agent === 'a2a') return this.a2a.executor.busy;
    if (agent === 'a2a-legacy') return this.legacy.executor.busy;
    return agent === 'subprocess' ? this.program.busy : 0;
  }

  async stop(): Promise<void> {
    await this.a2a.close();
    await this.legacy.close();
    await this.http.close();
    this.program.remove();
  }
}

async function define(api: TestApi, name: string, content: object): Promise<void> {
  const body = { name, content: { description: 'Executes a scenario.', ...content } };
  const answer = await api.call('POST', '/v1/definitions', { body });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
}

/** The model of the native agent. */
function stepOf({ messages }: ModelRequest): Step {
  const last = messages.findLast((message) => message.role === 'user');
  const part = last?.content.find(({ type }) => type === 'text') as { text: string } | undefined;
  const scenario = JSON.parse(part?.text ?? '') as FleetScenario;
  const text = 'pieces' in scenario ? scenario.pieces.join('') : '';
  const paid = (step: Step): Step => ('usage' in scenario && scenario.usage ? using(scenario.usage, step) : step);
  if (scenario.does === 'ask') return callTool('ask_caller', { question: scenario.question }, 'question');
  if (scenario.does === 'refuse') return paid(refuse(scenario.message));
  if (scenario.does === 'hang') return hangAfter(text);
  if (scenario.does === 'stop') return paid(runOutOfTokens(text));
  return scenario.does === 'fail' ? failWith(400) : paid(say(text));
}
