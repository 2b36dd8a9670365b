import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { ApiClient } from './api.client.js';
import type { FuzzServer } from './fuzz.server.js';
import type { Operation } from './openapi.js';
import type { Exchange } from './sender.js';
import type { Slot, SlotValues } from './slots.js';
import {
  AGENTS,
  ASKER,
  AWARDED,
  CONFIRMED,
  CONVERSATION,
  DEFINITION_PREFIX,
  FILE,
  OTHERS,
  PULL_AGENT,
  TALKER,
  UNFINISHED,
} from './valid-request.js';

interface AgentSlot {
  leaseToken: string;
  generation: number;
}

const ROLES = ['admin', 'operator', 'agent', 'caller', 'viewer'];
const PREFIX = 'fuzz-agent-';
const NAMESPACES = '/v1/namespaces';
const DEFINITIONS = '/v1/definitions';
/** The maximum number of objects that fuzzed requests may have created and that are not deleted yet. */
const MAX_CREATED = 20;
const NO_LIMIT = { tokens: null, microUsd: null };
/** The number of the run that has finished. The others wait. */
const FINISHED = 2;
/** How many budgets of each kind get no limit at a time. */
const MAX_LIFTED = 20;
const BID = { price: 100, etaMs: 1_000, confidence: 0.9 };
const A2A = { 'a2a-version': '1.0' };
/** How long the auctions of the contracts that are won take. */
const AUCTION_MS = 1_500;
/** Longer than the fuzzer needs until it uses a contract, also on a slow machine. */
const LONG_MS = 600_000;

interface RunSlot {
  id: string;
  callId: string;
  inputHash: string;
  push: string;
}

interface RunBody {
  id?: string;
  result?: { approvals?: { callId: string; inputHash: string }[] };
}

/**
 * The objects on the server that fuzzed requests refer to: agents, keys, webhooks, budgets, reservations, namespaces, definitions, runs, tasks
 * and contracts. Requests delete and change them, so each call of `maintain` restores some of them.
 */
export class Fixtures {
  readonly values: SlotValues = (slot, which) => this.valueOf(slot, which);
  private readonly api: ApiClient;
  private readonly secrets: Record<string, string> = {};
  private readonly agents: AgentSlot[] = [];
  private readonly runs: RunSlot[] = [];
  private readonly ids: Record<
    'key' | 'webhook' | 'budget' | 'reservation' | 'namespace' | 'contract' | 'delivery',
    string[]
  > = {
    contract: [],
    delivery: [],
    key: [],
    webhook: [],
    budget: [],
    reservation: [],
    namespace: [],
  };
  private readonly cursors = new Map<string, string>();
  /** The paths of objects that fuzzed requests created. */
  private readonly created: string[] = [];
  private readonly receiver: Server = createServer((request, response) => {
    request.resume();
    response.writeHead(204).end();
  });
  /** The tasks that the agent has taken. */
  private tasks: string[] = [];
  /** The contract that is confirmed next. */
  private won?: string;
  private pin = { tool: 'none', hash: 'none' };
  private ticket = '';
  private session = { token: 'none', ticket: 'none' };
  private head = '1';
  private round = 0;

  constructor(
    private readonly server: FuzzServer,
    private readonly operations: readonly Operation[],
  ) {
    this.api = new ApiClient(server.url, server.adminKey);
  }

  async create(): Promise<void> {
    this.receiver.listen(0, '127.0.0.1');
    await once(this.receiver, 'listening');
    for (const role of ROLES) {
      const namespace = role === 'admin' ? '*' : 'default'; // some routes require access to all namespaces
      const { body } = await this.api.call('POST', '/v1/keys', { name: `fuzz ${role}`, roles: [role], namespace });
      this.secrets[role] = String(body['key']);
    }
    await this.renewAll();
    await this.readPin();
  }

  /** Restores all objects, and waits until the auctions of the contracts have ended. */
  async restore(): Promise<void> {
    await this.liftBudgets();
    await this.renewAll();
    await delay(2 * AUCTION_MS);
    await this.renewContract(CONFIRMED); // confirms the one that was won
  }

  private async renewAll(): Promise<void> {
    for (let n = 0; n < AGENTS; n++) await this.renewAgent(n);
    await this.define();
    for (let n = 0; n < OTHERS; n++) await this.renewOthers(n);
    await this.renewSession();
  }

  async close(): Promise<void> {
    this.receiver.closeAllConnections();
    await new Promise((done) => this.receiver.close(done));
  }

  /** Restores some of the objects. */
  async maintain(): Promise<void> {
    this.round += 1;
    for (const winner of [AWARDED, CONFIRMED]) if (!(await this.isKept(winner))) await this.renewAgent(winner);
    const agent = this.round % AGENTS;
    if (agent !== AWARDED && agent !== CONFIRMED) await this.renewAgent(agent);
    if (this.round % 2 === 0) await this.renewSession();
    if (this.round % 4 === 0) await this.renewOthers((this.round / 4) % OTHERS);
    if (this.round % 4 === 2) await this.renewContract(CONFIRMED);
    if (this.round % 5 === 0) await this.liftBudgets();
    if (this.round % 8 === 0) await this.define();
    while (this.created.length > MAX_CREATED) await this.api.call('DELETE', this.created.shift() ?? '');
  }

  /** Records what a request created, so that it can be deleted, and the cursor of a page, for requests for the next page. */
  record(operationId: string, { head, body }: Exchange): void {
    if (!head || head.status >= 300 || body.length === 0 || body[0] !== 0x7b) return;
    const path = operationId.split(' ')[1] ?? '';
    const fields = parse(body);
    if (typeof fields['nextCursor'] === 'string') this.cursors.set(path, fields['nextCursor']);
    const isNamed = path === NAMESPACES || path === DEFINITIONS;
    const id = isNamed ? fields['name'] : (fields['agentId'] ?? fields['id']);
    if (head.status !== 201 || typeof id !== 'string' || id.startsWith(PREFIX)) return;
    if (path === NAMESPACES) this.ids.namespace[this.created.length % OTHERS] = id;
    const undo = this.operations.find(({ method, path: other }) => method === 'DELETE' && isBelow(other, path));
    if (undo) this.created.push(undo.path.replace(/\{\w+\}$/, encodeURIComponent(id)));
  }

  private valueOf(slot: Slot, which: string): string {
    const at = Number(which);
    switch (slot) {
      case 'agent':
        return `${PREFIX}${at}`;
      case 'lease':
        return this.agents[at]?.leaseToken ?? 'rl_none';
      case 'generation':
        return String(this.agents[at]?.generation ?? 1);
      case 'secret':
        return this.secrets[which] ?? 'none';
      case 'cursor':
        return this.cursors.get(which) ?? 'MQ';
      case 'sequence':
        return this.head;
      case 'ticket':
        return this.ticket;
      case 'session':
        return this.session.token;
      case 'sessionTicket':
        return this.session.ticket;
      case 'run':
        return this.runs[at]?.id ?? 'none';
      case 'call':
        return this.runs[at]?.callId ?? 'none';
      case 'inputHash':
        return this.runs[at]?.inputHash ?? 'none';
      case 'push':
        return this.runs[at]?.push ?? 'none';
      case 'task':
        return this.tasks[at] ?? 'none';
      case 'pin':
        return this.pin.tool;
      case 'pinHash':
        return this.pin.hash;
      case 'receiver':
        return `http://127.0.0.1:${(this.receiver.address() as AddressInfo).port}/hook`;
      case 'key':
      case 'webhook':
      case 'budget':
      case 'reservation':
      case 'namespace':
      case 'contract':
      case 'delivery':
        return this.ids[slot][at] ?? '1';
    }
  }

  /** Makes an agent registered, active, and neither draining nor quarantined. */
  private async renewAgent(at: number): Promise<void> {
    const agentId = `${PREFIX}${at}`;
    const join = {
      agentId,
      name: agentId,
      capabilities: ['build', 'code.review'],
      labels: { team: 'platform' },
      budget: { totalTokens: 1e9 },
      ...(at === PULL_AGENT && { work: 'pull' }),
    };
    let { status, body } = await this.api.call('POST', '/v1/agents', {
      ...join,
      leaseToken: this.agents[at]?.leaseToken,
    });
    if (status === 403 || status === 409) {
      await this.api.call('POST', `/v1/agents/${agentId}/evict`);
      ({ status, body } = await this.api.call('POST', '/v1/agents', join));
    }
    if (status !== 201) return;
    const itself = { leaseToken: String(body['leaseToken']), generation: Number(body['generation']) };
    this.agents[at] = itself;
    await this.api.call('POST', `/v1/agents/${agentId}/resume`);
    await this.api.call('POST', `/v1/agents/${agentId}/outcomes`, { ok: true });
    if (at === PULL_AGENT) await this.takeTask(agentId, itself);
  }

  /** An agent that registers again loses its bid, so the winners of contracts only send heartbeats while they are registered. */
  private async isKept(at: number): Promise<boolean> {
    const { leaseToken, generation } = this.agents[at] ?? { leaseToken: 'rl_none', generation: 1 };
    const itself = new ApiClient(this.server.url, leaseToken);
    return (await itself.call('POST', `/v1/agents/${PREFIX}${at}/heartbeat`, { generation })).status === 200;
  }

  /** Requests end the session, and use the ticket. */
  private async renewSession(): Promise<void> {
    const opened = await this.api.call('POST', '/v1/sessions', {});
    const issued = await this.api.call('POST', '/v1/sessions/tickets', {});
    this.session = { token: String(opened.body['token']), ticket: String(issued.body['ticket']) };
  }

  /** The agent has two tasks that it has taken, and one that it has not. */
  private async takeTask(agent: string, { leaseToken, generation }: AgentSlot): Promise<void> {
    for (const input of ['One.', 'Two.', 'Three.']) await this.api.call('POST', '/v1/runs', { agent, input });
    const worker = new ApiClient(this.server.url, leaseToken);
    const { body } = await worker.call('POST', `/v1/agents/${agent}/tasks/take`, { generation, max: 2 });
    const taken = ((body['tasks'] ?? []) as { callId: string }[]).map(({ callId }) => callId);
    if (taken.length > UNFINISHED) this.tasks = taken;
  }

  /** A definition that answers, one whose runs wait for an approval, and hosted agents. */
  private async define(): Promise<void> {
    const model = { vendor: 'scripted', model: 'steps' };
    const content = { description: 'Talks.', instructions: 'Talk.', tools: ['clock', 'read_file'], model };
    await this.api.call('POST', DEFINITIONS, { name: TALKER, content });
    await this.api.call('POST', DEFINITIONS, { name: ASKER, content: { ...content, approve: { clock: 'operator' } } });
  }

  private async renewRun(at: number): Promise<void> {
    const { api } = this;
    const definition = at === FINISHED ? TALKER : ASKER;
    const files = [{ path: FILE, content: 'Hello.' }];
    const start =
      at === FINISHED
        ? { definition, input: 'Hello.', files, conversationId: CONVERSATION }
        : { definition, input: 'Read the clock 1 times.', files };
    const { body } = (await api.call('POST', '/v1/runs?waitMs=3000', start)) as { body: RunBody };
    const [{ callId, inputHash } = { callId: 'none', inputHash: 'none' }] = body.result?.approvals ?? [];
    const id = body.id ?? 'none';
    const path = `/a2a/agents/${definition}/tasks/${id}/pushNotificationConfigs`;
    const push = await api.call('POST', path, { url: this.valueOf('receiver', '0') }, A2A);
    this.runs[at] = { id, callId, inputHash, push: String(push.body['id'] ?? 'none') };
  }

  /** The agent with the number of a contract wins it. The auction takes some time, so the contract is confirmed at the next renewal. */
  private async renewContract(at: number): Promise<void> {
    const { api, ids } = this;
    const agentId = `${PREFIX}${at}`;
    const isWon = at === AWARDED || at === CONFIRMED;
    if (at === CONFIRMED && this.won !== undefined) {
      const { status } = await api.call('POST', `/v1/contracts/${this.won}/confirm`, { agentId });
      if (status < 300) ids.contract[at] = this.won;
    }
    await this.renewAgent(at);
    const task = { task: 'Build it.', capabilities: ['build'], confirmWithinMs: LONG_MS };
    const { body } = await api.call('POST', '/v1/contracts', { ...task, bidWithinMs: isWon ? AUCTION_MS : LONG_MS });
    if (typeof body['id'] !== 'string') return;
    if (at === CONFIRMED) this.won = body['id'];
    else ids.contract[at] = body['id'];
    if (isWon) await api.call('POST', `/v1/contracts/${body['id']}/bids`, { agentId, ...BID });
  }

  /** A tool of the MCP server is pinned when it is listed. */
  private async readPin(): Promise<void> {
    await this.api.call('GET', '/v1/tools');
    const { body } = await this.api.call('GET', '/v1/tools/pins');
    const [pin] = (body['items'] ?? []) as { tool: string; hash: string }[];
    if (pin) this.pin = { tool: pin.tool, hash: pin.hash };
  }

  private async renewOthers(at: number): Promise<void> {
    const { api, ids } = this;
    if (ids.key[at] !== undefined) await api.call('DELETE', `/v1/keys/${ids.key[at]}`);
    ids.key[at] = String((await api.call('POST', '/v1/keys', { name: 'victim', roles: ['viewer'] })).body['id']);
    if (ids.webhook[at] !== undefined) await api.call('DELETE', `/v1/webhooks/${ids.webhook[at]}`);
    const hook = await api.call('POST', '/v1/webhooks', { url: this.valueOf('receiver', '0') });
    ids.webhook[at] = String(hook.body['id']);
    await this.renewNamespace(at);
    const content = { description: 'A definition that requests change.' };
    await api.call('POST', DEFINITIONS, { name: `${DEFINITION_PREFIX}${at}`, content });
    await api.call('POST', '/v1/runtime/agents', { definition: `${DEFINITION_PREFIX}${at}` });
    await this.renewRun(at);
    await this.renewContract(at);
    const { body: deliveries } = await api.call('GET', `/v1/webhooks/${ids.webhook[at]}/deliveries?limit=1`);
    const [delivery] = (deliveries['items'] ?? []) as { sequence: string }[];
    if (delivery) ids.delivery[0] = delivery.sequence;
    const key = `fuzz-reservation-${this.round}-${at}`;
    const spender = new ApiClient(this.server.url, this.secrets['admin'] ?? '');
    await spender.call('POST', '/v1/budgets/reservations', { key, agentId: `${PREFIX}${at}`, tokens: 1_000 });
    ids.reservation[at] = key;
    const budget = await api.call('GET', `/v1/agents/${PREFIX}${at}/budget`);
    ids.budget[at] = String(budget.body['id'] ?? at + 1);
    this.ticket = String((await api.call('POST', '/v1/events/tickets')).body['ticket']);
    const { body: events } = await api.call('GET', '/v1/events?after=latest');
    this.head = /^\d+/.exec(String(events['head']))?.[0] ?? '1';
  }

  /** A request may have deleted the namespace, and the name of a deleted namespace cannot be used again. */
  private async renewNamespace(at: number): Promise<void> {
    const { namespace } = this.ids;
    if (namespace[at] !== undefined) await this.api.call('DELETE', `${NAMESPACES}/${namespace[at]}`);
    const { body } = await this.api.call('POST', NAMESPACES, { name: `fuzz-${this.round}-${at}` });
    namespace[at] = String(body['name'] ?? 'none');
  }

  /** Removes the limits of budgets that requests opened: they would reject all later reservations. */
  private async liftBudgets(): Promise<void> {
    for (const kind of ['fleet', 'namespace', 'caller']) {
      const { body } = await this.api.call('GET', `/v1/budgets?kind=${kind}`);
      for (const { id } of ((body['items'] ?? []) as { id: string }[]).slice(0, MAX_LIFTED))
        await this.api.call('POST', `/v1/budgets/${id}/adjust`, { limit: NO_LIMIT, note: 'fuzz' });
    }
  }
}

function isBelow(path: string, parent: string): boolean {
  return path.startsWith(`${parent}/{`) && path.indexOf('/', parent.length + 1) < 0;
}

function parse(body: Buffer): Record<string, unknown> {
  try {
    return JSON.parse(body.toString('utf8')) as Record<string, unknown>;
  } catch {
    return {}; // the response is not JSON
  }
}
