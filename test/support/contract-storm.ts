import { randomInt, randomUUID } from 'node:crypto';
import { until } from '#rollcall/test-support';
import type { Answer, CallOptions } from './call.js';
import type { Replicas } from './replicas.js';

const CAPABILITY = 'storm';
const MORTALS = 3;
/** The reservation of an award expires some time after the promised end of the work. The storm must be over before that. */
const MIN_ETA_MS = 3_600_000;
const SEALED = new Set(['announced', 'bidding']);
const OPEN = new Set([...SEALED, 'awarded']);
const INVALID_BIDS = [
  '"price":-1,"etaMs":10,"confidence":1',
  '"price":null,"etaMs":10,"confidence":1',
  '"price":1e999,"etaMs":10,"confidence":1',
  '"price":"NaN","etaMs":10,"confidence":1',
  '"price":5,"etaMs":-3,"confidence":1',
  '"price":5,"etaMs":10,"confidence":7',
];

interface Bidder {
  readonly agentId: string;
  leaseToken: string;
  generation: number;
}

interface ContractBody {
  id: string;
  state: string;
  winner: string | null;
  code?: string;
}

/** What the clients of the storm saw. */
export interface StormReport {
  /** By contract, the agents whose confirmation succeeded. */
  readonly confirmed: Map<string, Set<string>>;
  /** The responses that a correct registry never sends. */
  readonly faults: string[];
  /** How often each kind of answer was sent. */
  readonly sent: Record<string, number>;
}

/** Agents that bid honestly, late, twice, with forged tokens or invalid numbers, and that revise bids, decline, stay silent or die. */
export class ContractStorm {
  readonly report: StormReport = { confirmed: new Map(), faults: [], sent: {} };
  private readonly bidders: Bidder[] = [];

  constructor(
    private readonly replicas: Replicas,
    private readonly key: string,
  ) {}

  async join(count: number): Promise<void> {
    for (let index = 0; index < count; index += 1)
      this.bidders.push(await this.register({ agentId: `bidder-${index}`, leaseToken: '', generation: 0 }));
  }

  /** One auction, from its announcement to its end. */
  async auction(): Promise<string> {
    const body = {
      capabilities: [CAPABILITY],
      task: 'Survive.',
      bidWithinMs: randomInt(800, 2_000),
      confirmWithinMs: randomInt(1_500, 4_000),
    };
    const headers = { 'idempotency-key': randomUUID() }; // the request is repeated if a replica dies
    const { key } = this;
    const announced = await this.send<ContractBody>('POST', '/v1/contracts', { key, body, headers });
    const { id } = announced.body;
    if (announced.status !== 201) throw new Error(`announce: ${announced.status} ${JSON.stringify(announced.body)}`);
    this.report.confirmed.set(id, new Set());
    await Promise.all(this.bidders.map(async (bidder) => await this.answer(id, bidder)));
    await this.untilEnded(id);
    return id;
  }

  private async answer(id: string, bidder: Bidder): Promise<void> {
    const choice = randomInt(10);
    if (choice < 3) return await this.bid(id, bidder, 'honest');
    if (choice === 3) return void (await Promise.all([1, 2].map(async () => await this.bid(id, bidder, 'duplicate'))));
    if (choice === 4) for (let revision = 0; revision < 3; revision += 1) await this.bid(id, bidder, 'revised');
    if (choice === 5) return await this.forge(id, bidder);
    if (choice === 6) return await this.sendInvalid(id, bidder);
    if (choice === 7) return await this.bidLate(id, bidder);
    if (choice === 8 && this.isMortal(bidder)) return await this.die(id, bidder);
  }

  /** If all bidders died now and then, hardly any bid would be valid at the end of its auction. */
  private isMortal(bidder: Bidder): boolean {
    return this.bidders.indexOf(bidder) < MORTALS;
  }

  private async bid(id: string, bidder: Bidder, kind: string): Promise<void> {
    await this.post(id, 'bids', bidder, kind, {
      price: randomInt(1, 1_000),
      etaMs: randomInt(MIN_ETA_MS, 2 * MIN_ETA_MS),
      confidence: 0.5,
    });
  }

  private async forge(id: string, bidder: Bidder): Promise<void> {
    const other = this.bidders.find(({ agentId }) => agentId !== bidder.agentId);
    const forged = { ...bidder, leaseToken: other?.leaseToken ?? '' };
    this.expect(
      await this.post(id, 'bids', forged, 'forged', { price: 0, etaMs: 1, confidence: 1 }),
      'forged',
      [401, 403, 404],
    );
  }

  private async sendInvalid(id: string, { agentId, generation, leaseToken: key }: Bidder): Promise<void> {
    for (const terms of INVALID_BIDS) {
      this.count('invalid');
      const body = `{"agentId":"${agentId}","generation":${generation},${terms}}`;
      const headers = { 'content-type': 'application/json' };
      const answer = await this.send('POST', `/v1/contracts/${id}/bids`, { key, body, headers });
      this.expect(answer, 'invalid', [400, 401, 403, 404, 409]); // the agent may have died in the meantime
      if (answer.status === 200) this.report.faults.push(`accepted ${terms}`);
    }
  }

  /** The best possible bid, after the auction has closed. */
  private async bidLate(id: string, bidder: Bidder): Promise<void> {
    await until('the auction is closed', async () => !SEALED.has((await this.get(id)).state));
    const answer = await this.post(id, 'bids', bidder, 'late', { price: 0, etaMs: 1, confidence: 1 });
    this.expect(answer, 'late', [409, 404, 403, 401]);
  }

  /** The agent bids, leaves the registry at once and registers again. Its bid does not count for the new generation. */
  private async die(id: string, bidder: Bidder): Promise<void> {
    await this.post(id, 'bids', bidder, 'dying', { price: 0, etaMs: 1, confidence: 1 });
    const { key } = this;
    await this.send('DELETE', `/v1/agents/${bidder.agentId}`, { key });
    Object.assign(bidder, await this.register(bidder));
  }

  /** Waits until the contract has ended. Each winner confirms, declines or stays silent, and losers try to confirm, too. */
  private async untilEnded(id: string): Promise<void> {
    const seen = new Set<string>();
    await until(
      'the contract has ended',
      async () => {
        const { state, winner } = await this.get(id);
        if (state === 'awarded' && winner !== null && !seen.has(winner)) {
          seen.add(winner);
          await this.onAward(id, winner);
        }
        return !OPEN.has(state);
      },
      90_000,
    );
  }

  private async onAward(id: string, winner: string): Promise<void> {
    const choice = randomInt(10);
    if (choice < 2) return; // the winner does not confirm
    const claimants = this.bidders.filter(({ agentId }) => agentId === winner || randomInt(4) === 0);
    const confirms = [...claimants, ...claimants].map(async (bidder) => await this.confirm(id, bidder, true));
    if (choice === 2)
      confirms.push(
        this.confirm(
          id,
          this.bidders.find(({ agentId }) => agentId === winner),
          false,
        ),
      );
    if (choice === 3) confirms.push(this.cancel(id));
    await Promise.all(confirms);
  }

  private async confirm(id: string, bidder: Bidder | undefined, accept: boolean): Promise<void> {
    if (!bidder) return;
    const { agentId } = bidder;
    const answer = await this.post(id, 'confirm', bidder, accept ? 'confirm' : 'decline', { accept });
    if (accept && answer.status === 200 && answer.body.state === 'confirmed')
      this.report.confirmed.get(id)?.add(agentId);
  }

  private async cancel(id: string): Promise<void> {
    this.count('cancel');
    const { key } = this;
    this.expect(await this.send('POST', `/v1/contracts/${id}/cancel`, { key, body: {} }), 'cancel', [200, 409]);
  }

  private async get(id: string): Promise<ContractBody> {
    const { key } = this;
    return (await this.send<ContractBody>('GET', `/v1/contracts/${id}`, { key })).body;
  }

  private async post(
    id: string,
    what: string,
    bidder: Bidder,
    kind: string,
    terms: object,
  ): Promise<Answer<ContractBody>> {
    this.count(kind);
    const { agentId, generation, leaseToken: key } = bidder;
    const body = { agentId, generation, ...terms };
    const answer = await this.send<ContractBody>('POST', `/v1/contracts/${id}/${what}`, { key, body });
    this.expect(answer, kind, [200, 401, 403, 404, 409]);
    return answer;
  }

  private async register(bidder: Bidder): Promise<Bidder> {
    const { agentId } = bidder;
    const { key } = this;
    const body = { agentId, name: agentId, capabilities: [CAPABILITY], takeover: true };
    const answer = await this.send('POST', '/v1/agents', { key, body });
    const { leaseToken, generation } = answer.body;
    this.expect(answer, 'register', [201]);
    return { agentId, leaseToken: String(leaseToken), generation: Number(generation) };
  }

  /** Repeats a request that was rejected with 429, because such a request has changed nothing. */
  private async send<Body = Record<string, unknown>>(
    method: string,
    path: string,
    options: CallOptions,
  ): Promise<Answer<Body>> {
    let answer = await this.replicas.call<Body>(method, path, options);
    while (answer.status === 429) {
      this.count('busy');
      answer = await this.replicas.call<Body>(method, path, options);
    }
    return answer;
  }

  private expect({ status, body }: Answer<unknown>, kind: string, statuses: number[]): void {
    if (!statuses.includes(status)) this.report.faults.push(`${kind}: ${status} ${JSON.stringify(body)}`);
  }

  private count(kind: string): void {
    this.report.sent[kind] = (this.report.sent[kind] ?? 0) + 1;
  }
}
