import type { AgentView } from '../../apps/api/src/agents/agent.view.js';
import type { RankingView } from '../../apps/api/src/agents/discovery/ranking.view.js';
import type { Registration } from './agent-client.js';
import type { Answer, CallOptions } from './call.js';
import type { Replicas } from './replicas.js';
import { SHARED_CAPABILITY, type Team } from './team.js';
import type { ReservationView } from '../../apps/api/src/budgets/reservations.dto.js';

/** The values of an agent that differ between the namespaces. */
export function factsOf(agent: Omit<AgentView, 'agentCard'>): object {
  const { agentId, namespace, name, capabilities, generation, labels, load, latency, budget } = agent;
  const { totalTokens, usedTokens } = budget;
  const [step, { inFlight }, { observedMs }] = [labels['step'], load, latency];
  const own = { inFlight, observedMs, totalTokens, usedTokens };
  return { agentId, namespace, name, capabilities, generation, step, ...own };
}

/**
 * An agent, and a caller that uses it. Together they send one request at a time, and repeat a request without a response. So the test
 * knows which state the registry must have in the end.
 */
export class LoadedAgent {
  steps = 0;
  settled = 0;
  registration: Registration = { agentId: '', generation: 0, leaseToken: '' };

  constructor(
    private readonly replicas: Replicas,
    readonly team: Team,
    readonly index: number,
  ) {}

  get agentId(): string {
    return `agent-${String(this.index).padStart(2, '0')}`;
  }

  get fails(): boolean {
    return this.team.fails(this.index);
  }

  /** What `factsOf` must return for the agent in the registry. */
  get expected(): object {
    const { agentId, index, steps, registration, fails } = this;
    const { namespace, mark } = this.team;
    return {
      agentId,
      namespace,
      name: `${namespace} ${index}`,
      capabilities: [SHARED_CAPABILITY, `only.${namespace}`],
      generation: registration.generation,
      step: `${namespace} ${steps}`,
      inFlight: mark * 1_000 + index,
      observedMs: fails ? null : mark * 100,
      totalTokens: mark * 10_000_000,
      usedTokens: this.settledAmount,
    };
  }

  get settledAmount(): number {
    return this.settled * this.team.mark * 100;
  }

  /** Registers, or replaces a registration whose response was lost. */
  async register(): Promise<void> {
    const { namespace, mark } = this.team;
    const body = {
      agentId: this.agentId,
      name: `${namespace} ${this.index}`,
      capabilities: [SHARED_CAPABILITY, `only.${namespace}`],
      budget: { totalTokens: mark * 10_000_000, source: 'ledger' },
      labels: this.labels,
      takeover: true,
    };
    const path = '/v1/agents';
    const answer = await this.send<Registration & { agent: AgentView }>('POST', path, {
      key: this.team.agentKey,
      body,
    });
    this.check(answer, 201, answer.body.agent?.namespace);
    this.registration = answer.body;
  }

  /** Uses all operations once. */
  async step(): Promise<void> {
    await this.reserve(`${this.agentId}.${this.steps}`);
    await this.report();
    await this.query();
    this.steps += 1;
    if (this.steps % this.team.mark === 0) await this.comeBack();
    else await this.update();
    await this.beat();
  }

  async beat(): Promise<void> {
    const { generation, leaseToken: key } = this.registration;
    const body = { generation, inFlight: this.team.mark * 1_000 + this.index };
    this.check(await this.send('POST', `/v1/agents/${this.agentId}/heartbeat`, { key, body }), 200);
  }

  private get labels(): Record<string, string> {
    return { step: `${this.team.namespace} ${this.steps}` };
  }

  /** Deregisters and registers again. */
  private async comeBack(): Promise<void> {
    const { generation, leaseToken: key } = this.registration;
    const answer = await this.send('DELETE', `/v1/agents/${this.agentId}?generation=${generation}`, { key });
    const alreadyLeft = answer.retried && answer.body['code'] === 'REGISTER_AGAIN';
    if (!alreadyLeft) this.check(answer, 204);
    await this.register();
  }

  private async update(): Promise<void> {
    const { generation, leaseToken: key } = this.registration;
    const body = { generation, labels: this.labels };
    const answer = await this.send<AgentView>('PATCH', `/v1/agents/${this.agentId}`, { key, body });
    this.check(answer, 200, answer.body.namespace);
  }

  /** Reserves tokens and settles half of them, or releases the reservation (every third time). */
  private async reserve(key: string): Promise<void> {
    const amount = this.team.mark * 100;
    const body = { key, agentId: this.agentId, tokens: amount * 2, microUsd: amount * 2 };
    const held = await this.spend('', body);
    this.check(held, 201, held.body.namespace);
    const releases = this.steps % 3 === 2;
    const used = { tokens: amount, microUsd: amount };
    const done = await (releases ? this.spend(`/${key}/release`, {}) : this.spend(`/${key}/settle`, used));
    this.check(done, 200, done.body.namespace);
    if (!releases) this.settled += 1;
  }

  private async spend(path: string, body: object): Promise<Answer<ReservationView>> {
    const headers = { 'rollcall-namespace': this.team.namespace };
    return await this.send('POST', `/v1/budgets/reservations${path}`, { key: this.team.spenderKey, body, headers });
  }

  private async report(): Promise<void> {
    const body = { ok: !this.fails, latencyMs: this.team.mark * 100 };
    const answer = await this.send('POST', `/v1/agents/${this.agentId}/outcomes`, { key: this.team.callerKey, body });
    this.check(answer, 200);
  }

  /** No agent of another namespace may be found at any time, on any replica. */
  private async query(): Promise<void> {
    const consistency = this.steps % 2 === 0 ? 'directory' : 'strong';
    const body = { capabilities: [SHARED_CAPABILITY], limit: 100, consistency };
    const answer = await this.send<RankingView>('POST', '/v1/agents/query', { key: this.team.callerKey, body });
    this.check(answer, 200);
    for (const { agent } of answer.body.candidates) {
      if (!agent.name.startsWith(`${this.team.namespace} `)) throw new Error(`found ${JSON.stringify(agent)}`);
      this.check(answer, 200, agent.namespace);
    }
  }

  private async send<Body = Record<string, unknown>>(
    method: string,
    path: string,
    options: CallOptions,
  ): Promise<Answer<Body> & { retried: boolean }> {
    return await this.replicas.call<Body>(method, path, options);
  }

  private check({ status, body }: Answer<unknown>, expected: number, namespace = this.team.namespace): void {
    if (status === expected && namespace === this.team.namespace) return;
    throw new Error(`${this.team.namespace} ${this.agentId}: ${status} ${JSON.stringify(body)}`);
  }
}
