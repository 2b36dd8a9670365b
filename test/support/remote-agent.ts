import { until } from '#rollcall/test-support';
import { A2aWire, type Json } from './a2a-wire.js';
import type { TestApi } from './api.js';
import { type Script, ScriptedBackend } from './scripted-backend.js';

const FACTS = 'urn:rollcall:a2a:v1';

/** What a caller sees of a task. */
export interface Seen {
  state: string;
  /** The code of the error, or the reason for the state. */
  why?: string;
  says: string;
}

export interface Charges {
  used: number;
  reserved: number;
}

/** What makes an agent unavailable for new work. */
export type Withdrawal = 'drain' | 'quarantine' | 'evict' | 'out of budget';

interface Budget {
  id: string;
  usage: { own: { tokens: number } };
  reserved: { tokens: number };
}

let made = 0;

/** A registered agent, its backend, and a client of its A2A endpoint. */
export class RemoteAgent {
  private constructor(
    private readonly api: TestApi,
    readonly agentId: string,
    readonly backend: ScriptedBackend,
    readonly wire: A2aWire,
  ) {}

  static async register(api: TestApi, key: string, scripts: readonly Script[]): Promise<RemoteAgent> {
    const agentId = `backend-${(made += 1)}`;
    const backend = await ScriptedBackend.start(scripts);
    await api.given.agent({ agentId, endpoint: backend.url, agentCard: { name: 'Backend' }, capabilities: ['work'] });
    const wire = new A2aWire('HTTP+JSON', `${api.url}/a2a/agents/${agentId}`, key);
    return new RemoteAgent(api, agentId, backend, wire);
  }

  /** Sends a message, and waits for the end of the task. */
  async run(more: Json = {}): Promise<Seen & { id: string }> {
    const { result, error } = await this.wire.call('SendMessage', { message: messageOf(), ...more });
    if (error) throw new Error(error.message);
    const sent = result?.['task'] as Json;
    return { id: String(sent['id']), ...seen(sent) };
  }

  /** Sends a message, and returns the id of the task at once. */
  async begin(): Promise<string> {
    const configuration = { returnImmediately: true };
    const { result } = await this.wire.call('SendMessage', { message: messageOf(), configuration });
    return idIn(result, 'task', 'id');
  }

  /** Begins a task, and waits until the backend works on it. */
  async beginAndWait(): Promise<string> {
    const id = await this.begin();
    await until('the backend works', () => this.backend.busy === 1);
    return id;
  }

  /** Sends a message and follows the task. Returns the id of the task. */
  async follow(): Promise<string> {
    const { events } = await this.wire.call('SendStreamingMessage', { message: messageOf() });
    return idIn(events.at(-1), 'statusUpdate', 'taskId');
  }

  async answer(taskId: string): Promise<Seen> {
    const { result } = await this.wire.call('SendMessage', { message: messageOf({ taskId }) });
    return seen(result?.['task'] as Json);
  }

  /** Sends a message, and returns the code with which it is rejected. */
  async rejection(): Promise<unknown> {
    const { result, error } = await this.wire.call('SendMessage', { message: messageOf() });
    return error ? error.info?.['reason'] : seen(result?.['task'] as Json).why;
  }

  async read(id: string): Promise<Seen> {
    return seen((await this.wire.call('GetTask', { id })).result ?? {});
  }

  async ended(id: string): Promise<Seen> {
    await until('the task ends', async () => !/SUBMITTED|WORKING/.test((await this.read(id)).state));
    return await this.read(id);
  }

  /** What the agent was charged and what is still reserved, in tokens. */
  async charges(): Promise<Charges> {
    const { usage, reserved } = await this.budget();
    return { used: usage.own.tokens, reserved: reserved.tokens };
  }

  async withdraw(how: Withdrawal): Promise<void> {
    const adjusted = { limit: { tokens: 1 }, note: 'spent' };
    const { status } =
      how === 'out of budget'
        ? await this.api.call('POST', `/v1/budgets/${(await this.budget()).id}/adjust`, { body: adjusted })
        : await this.api.call('POST', `/v1/agents/${this.agentId}/${how}`, { body: {} });
    if (status >= 300) throw new Error(`${how} was answered with ${status}`);
    if (how !== 'out of budget') await until('the directory knows it', async () => !(await this.isOffered()));
  }

  /** Whether the directory of the replica offers the agent for work. */
  private async isOffered(): Promise<boolean> {
    const body = { capabilities: ['work'], limit: 100 };
    const query = await this.api.call<{ candidates: { agent: { agentId: string } }[] }>('POST', '/v1/agents/query', {
      body,
    });
    return query.body.candidates.some(({ agent }) => agent.agentId === this.agentId);
  }

  private async budget(): Promise<Budget> {
    const { body } = await this.api.call<{ budgets: [Budget] }>('GET', `/v1/agents/${this.agentId}/budget`);
    return body.budgets[0];
  }
}

function idIn(response: Json | undefined, part: string, field: string): string {
  const found = (response?.[part] as Json | undefined)?.[field];
  if (typeof found !== 'string') throw new Error(`the response has no ${part}: ${JSON.stringify(response)}`);
  return found;
}

function messageOf(more: object = {}): Json {
  return { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'Work.' }], ...more };
}

interface SeenTask {
  status: { state: string };
  metadata: Record<string, { error?: { code: string }; reason?: string; code?: string }>;
  artifacts?: { parts: { text?: string }[] }[];
}

function seen(found: Json): Seen {
  const { status, metadata, artifacts = [] } = found as unknown as SeenTask;
  const { error, reason, code } = metadata[FACTS] ?? {};
  const why = error?.code ?? reason ?? code;
  const says = artifacts.flatMap(({ parts }) => parts.map(({ text = '' }) => text)).join('');
  return { state: status.state.replace('TASK_STATE_', ''), ...(why !== undefined && { why }), says };
}
