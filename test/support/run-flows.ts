import { defineTool, ToolCatalog } from '#rollcall/agent-runtime';
import { type ModelProvider, type ModelRequest, VendorRegistry } from '#rollcall/providers';
import { callTool, say, ScriptedModel } from '#rollcall/providers/testing';
import { A2aWire } from './a2a-wire.js';
import type { TestApi } from './api.js';
import { piece, ScriptedBackend, status, task } from './scripted-backend.js';

/** What the API answered in a flow, in order. */
export type FlowAnswers = readonly { status: number; body: unknown }[];

export type FlowName = 'oneModelCall' | 'oneToolCall' | 'delegatedRun' | 'externalAgent';

const EXTERNAL_AGENT = 'external';
const WAIT_MS = 20_000;

type Reply = ReturnType<typeof say>;

/** What the model of each definition replies before and after its tool call. */
const SCRIPTS: Record<string, { first: Reply; last: Reply }> = {
  answerer: { first: say('The answer.'), last: say('The answer.') },
  worker: { first: callTool('work', { part: 'one' }, 'call-1'), last: say('The work is done.') },
  lead: {
    first: callTool('delegate_to_agent', { agent: 'answerer', task: 'Answer.' }, 'call-1'),
    last: say('The answer was delegated.'),
  },
};

/**
 * The flows of a run whose database traffic and stored rows are asserted: the same requests with the same scripted models in
 * each suite. A flow ends when the caller has the result of the run.
 */
export class RunFlows implements Record<FlowName, () => Promise<FlowAnswers>> {
  /** The settings of a replica that can call the external agent, which sends no heartbeats. */
  static readonly SETTINGS = { ROLLCALL_EGRESS_ALLOW: '127.0.0.1', ROLLCALL_HEARTBEAT_EVERY: '10m' };

  private constructor(
    private readonly api: TestApi,
    private readonly key: string,
    private readonly backend: ScriptedBackend,
  ) {}

  static async prepare(api: TestApi): Promise<RunFlows> {
    const tool = defineTool({ name: 'work', description: 'Works.', idempotent: true, execute: () => 'worked' });
    api.app.nest.get(ToolCatalog, { strict: false }).add({ name: 'flow-tools', tools: () => [tool] });
    api.app.nest.get(VendorRegistry, { strict: false }).register({ name: 'flows', needsKey: false, open: modelOf });
    for (const name of Object.keys(SCRIPTS)) await define(api, name);
    const backend = await ScriptedBackend.start([{ frames: [task('WORKING'), piece('Done.'), status('COMPLETED')] }]);
    await api.given.agent({ agentId: EXTERNAL_AGENT, endpoint: backend.url, agentCard: { name: 'External' } });
    return new RunFlows(api, await api.given.key('caller'), backend);
  }

  /** The principal that starts the runs. */
  get caller(): string {
    return `key:${this.key.split('_')[1]}`;
  }

  async stop(): Promise<void> {
    await this.backend.stop();
  }

  async oneModelCall(): Promise<FlowAnswers> {
    return await this.runOf('answerer');
  }

  async oneToolCall(): Promise<FlowAnswers> {
    return await this.runOf('worker');
  }

  /** The run has a limit of its own. The caller of this method may also limit the namespace. */
  async limitedToolCall(): Promise<FlowAnswers> {
    return await this.runOf('worker', { budget: { tokens: 60_000 } });
  }

  async delegatedRun(): Promise<FlowAnswers> {
    return await this.runOf('lead');
  }

  async externalAgent(): Promise<FlowAnswers> {
    const wire = new A2aWire('JSONRPC', `${this.api.url}/a2a/agents/${EXTERNAL_AGENT}`, this.key);
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'Work.' }] };
    const { status: code, result, error } = await wire.call('SendMessage', { message });
    return completed([{ status: code, body: result ?? error }], 'TASK_STATE_COMPLETED');
  }

  private async runOf(definition: string, more: object = {}): Promise<FlowAnswers> {
    const { key } = this;
    const body = { definition, input: 'Begin.', ...more };
    const started = await this.api.call<{ id: string }>('POST', '/v1/runs', { body, key });
    const ended = await this.api.call('GET', `/v1/runs/${started.body.id}?waitMs=${WAIT_MS}`, { key });
    const answers = [started, ended].map(({ status: code, body: answer }) => ({ status: code, body: answer }));
    return completed(answers, 'completed');
  }
}

/** A flow that failed would need fewer round trips. */
function completed(answers: FlowAnswers, state: string): FlowAnswers {
  const last = JSON.stringify(answers.at(-1));
  if (!last.includes(`"state":"${state}"`)) throw new Error(`the run was not completed: ${last}`);
  return answers;
}

async function define(api: TestApi, name: string): Promise<void> {
  const model = { vendor: 'flows', model: name };
  const tools = { worker: ['work'], lead: ['delegate_to_agent'] }[name] ?? [];
  const content = { description: `The ${name}.`, instructions: 'Work.', model, tools };
  const { status: code, body } = await api.call('POST', '/v1/definitions', { body: { name, content } });
  if (code !== 201) throw new Error(JSON.stringify(body));
}

function modelOf({ model }: { model: string }): ModelProvider {
  const { first, last } = SCRIPTS[model];
  const isFirst = ({ messages }: ModelRequest): boolean => messages.every(({ role }) => role !== 'assistant');
  return new ScriptedModel((request) => (isFirst(request) ? first : last), model);
}
