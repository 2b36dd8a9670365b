import { Injectable } from '@nestjs/common';
import { localIdOf, namespaceOf } from '#rollcall/platform';
import type { Agent, AgentBid } from '#rollcall/providers';
import {
  type BidRequest,
  ContractBidding,
  ContractInviters,
  type ContractNotice,
  type Inviter,
  MAX_WINDOW_MS,
  RegistryClock,
  RegistryError,
  toNoticeView,
} from '#rollcall/registry';
import { AgentHost } from '../lifecycle/agent.host.js';
import { AgentBusyError } from '../lifecycle/lifecycle.errors.js';
import { leaseCredentialOf } from '../lifecycle/registration/agent.registrar.js';
import type { SpawnedAgent } from '../lifecycle/spawned.agent.js';
import { NATIVE } from '../definitions/definition.js';
import { NativeBids } from './native.bids.js';
import { repeated } from './temporary.errors.js';

/** The errors that are expected, because the auction can close or the agent can leave in the meantime. */
const OVER: ReadonlySet<string> = new Set([
  'BID_LATE',
  'CONTRACT_CLOSED',
  'CONTRACT_NOT_AWARDED',
  'REGISTER_AGAIN',
  'STALE_GENERATION',
]);

/**
 * Invites the agents that this replica hosts. An agent that implements `bid` is asked for a bid, `NativeBids` bids for agents of the provider
 * `native`, and any other agent refuses. The award of a hosted agent is confirmed for it, because it can be called at once.
 */
@Injectable()
export class HostedInviter implements Inviter {
  constructor(
    private readonly host: AgentHost,
    private readonly bidding: ContractBidding,
    private readonly clock: RegistryClock,
    private readonly inviters: ContractInviters,
    private readonly native: NativeBids,
  ) {
    inviters.add(this);
  }

  reaches(agentId: string): boolean {
    return this.find(agentId) !== undefined;
  }

  async deliver(notice: ContractNotice): Promise<void> {
    const agent = this.find(notice.agentId);
    if (!agent) return;
    try {
      if (notice.kind === 'bid') await this.bid(agent, notice);
      if (notice.kind === 'award')
        await repeated(async () => await this.bidding.confirm(notice.contract, leaseCredentialOf(agent)));
      if (notice.kind === 'lost') await this.using(agent, async (one) => one.lost?.(notice.contract.id), true);
    } catch (error) {
      if (!(error instanceof RegistryError && OVER.has(error.code))) throw error;
    }
  }

  /** A bid that fails or is invalid is a refusal, so that the auction does not wait for it. */
  private async bid(agent: SpawnedAgent, notice: ContractNotice): Promise<void> {
    const { contract } = notice;
    const leftMs = Math.min(MAX_WINDOW_MS, Math.max(0, contract.deadline - this.clock.now()));
    const signal = AbortSignal.timeout(leftMs);
    const answer = await untilAborted(this.ask(agent, notice, signal), signal).catch(this.refusalOf);
    if (signal.aborted) return;
    const send = async (request: BidRequest): Promise<void> =>
      await repeated(async () => await this.bidding.bid(contract, leaseCredentialOf(agent), request));
    try {
      await send(toRequest(answer));
    } catch (error) {
      if (!(error instanceof RegistryError && error.code === 'BID_INVALID')) throw error;
      await send({ refuse: true, note: error.message });
    }
  }

  /** Releases the agent at the deadline, even if its call ignores the signal. */
  private async ask(agent: SpawnedAgent, notice: ContractNotice, signal: AbortSignal): Promise<AgentBid | undefined> {
    const { namespace, name, provider } = agent.facts;
    const bidOf = async (one: Agent): Promise<AgentBid | undefined> => {
      if (one.bid || provider !== NATIVE) return await one.bid?.(toNoticeView(notice), signal);
      const { blueprint } = await agent.hosted.instance();
      return await this.native.bid({ namespace, name, content: blueprint.content }, toNoticeView(notice));
    };
    return await this.using(agent, async (one) =>
      signal.aborted ? undefined : await untilAborted(bidOf(one), signal),
    );
  }

  private readonly refusalOf = (error: unknown): AgentBid => {
    if (error instanceof AgentBusyError) return { refuse: true, note: 'The agent is busy.' };
    this.inviters.report(error);
    return { refuse: true, note: 'The agent failed to bid.' };
  };

  private async using<Result>(
    agent: SpawnedAgent,
    work: (agent: Agent) => Promise<Result>,
    waits = false,
  ): Promise<Result> {
    const use = await agent.hosted.use(waits);
    try {
      return await work(use.agent);
    } finally {
      use.release();
    }
  }

  private find(agentId: string): SpawnedAgent | undefined {
    return this.host.find({ namespace: namespaceOf(agentId), name: localIdOf(agentId) });
  }
}

/** Resolves with undefined when the signal is aborted, even if the agent ignores the signal. */
async function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value | undefined> {
  const over = Promise.withResolvers<undefined>();
  const end = (): void => over.resolve(undefined);
  signal.addEventListener('abort', end, { once: true });
  try {
    return await Promise.race([work, over.promise]);
  } finally {
    signal.removeEventListener('abort', end);
    void work.catch(() => undefined); // an error after the deadline has no effect
  }
}

function toRequest(bid: AgentBid | undefined): BidRequest {
  if (!bid) return { refuse: true, note: 'The agent does not bid.' };
  if ('refuse' in bid) return { refuse: true, note: bid.note ?? null };
  const { price, etaMs, confidence, note = null } = bid;
  return { offer: { price, etaMs, confidence, note } };
}
