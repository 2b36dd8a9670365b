import { Injectable } from '@nestjs/common';
import { localIdOf, qualifiedId } from '#rollcall/platform';
import {
  CONTRACT_NET,
  type ContractReading,
  ContractSelection,
  DEFAULT_SELECTION_MS,
  type Participant,
  type RankedCandidate,
  Ranker,
  RegistryClock,
  StrongReader,
} from '#rollcall/registry';
import type { Principal } from '../../auth/principal.js';
import { StorageRate } from '../../limits/storage.rate.js';
import { ApiError } from '../../http/problems/api.error.js';
import { validationPipe } from '../../http/validation/validation.pipe.js';
import { QueryBody, toAgentQuery } from './query.dto.js';
import type { RankingView } from './ranking.view.js';

const MICRO_PER_DOLLAR = 1_000_000;

/**
 * Answers queries with `prefer: "contract-net"`: the agents that match are invited to bid, and the bidders are returned instead of a
 * ranking by known facts. The auction is a contract like any other one, so it can be read at /v1/contracts.
 */
@Injectable()
export class ContractQueries {
  private readonly pipe = validationPipe();

  constructor(
    private readonly selection: ContractSelection,
    private readonly ranker: Ranker,
    private readonly clock: RegistryClock,
    private readonly strong: StrongReader,
    private readonly storage: StorageRate,
  ) {}

  /** Whether the body of a query asks for an auction. */
  accepts(body: unknown): boolean {
    return typeof body === 'object' && body !== null && 'prefer' in body && body.prefer === CONTRACT_NET;
  }

  async rank(body: unknown, caller: Principal, signal: AbortSignal): Promise<RankingView> {
    const valid = (await this.pipe.transform(body, { type: 'body', metatype: QueryBody })) as QueryBody;
    const { namespace, id, owner: by, permissions } = caller;
    if (!permissions.includes('contracts:announce'))
      throw new ApiError(
        'FORBIDDEN',
        'A query with contract-net requires the permission contracts:announce. Use a credential whose roles include this permission.',
      );
    const { waitMs = DEFAULT_SELECTION_MS, limit = 10, capabilities = [] } = valid;
    const task =
      valid.task ?? (capabilities.length > 0 ? `Any task that needs: ${capabilities.join(', ')}` : 'Any task.');
    const query = { ...toAgentQuery(valid), namespace, prefer: undefined, limit: undefined, explain: false };
    if (valid.consistency === 'strong') await this.strong.prepare(query);
    const payer = qualifiedId(namespace, id);
    const request = { namespace, capabilities, task, waitMs, by, payer, rules: { query } };
    this.storage.take(caller, task);
    const reading = await this.selection.select(request, signal);
    this.storage.takeMore(caller, reading.contract.invited);
    const { candidates } = this.ranker.rankAll(query, this.clock.now());
    return toRanking(reading, candidates, limit);
  }
}

/**
 * The winner first, then the bidders that never had the award. Without a winner there are no candidates, because no agent has confirmed
 * the award. Bidders that are no longer routable are left out.
 */
function toRanking(
  { contract, participants }: ContractReading,
  routable: readonly RankedCandidate[],
  limit: number,
): RankingView {
  const { id, state, winner, expiryReason } = contract;
  const isWinner = ({ agentId }: Participant): number => Number(agentId === winner);
  const bidders = participants.filter((one) => one.answer === 'bid' && (one.result === null || isWinner(one)));
  const ordered = winner === null ? [] : bidders.toSorted((one, other) => isWinner(other) - isWinner(one));
  const byId = new Map(routable.map((candidate) => [candidate.agent.agentId, candidate]));
  const candidates = ordered.flatMap((bidder) => {
    const found = byId.get(localIdOf(bidder.agentId));
    return found ? [{ ...found, score: bidder.score, reasons: reasonsOf(bidder, winner) }] : [];
  });
  return {
    prefer: CONTRACT_NET,
    scoreMeaning: 'the score of the bid, from 0 to 1; higher is better',
    candidates: candidates.slice(0, limit).map((candidate, index) => Object.assign(candidate, { rank: index + 1 })),
    retryAfterMs: null,
    contract: { id, state, winner: winner === null ? null : localIdOf(winner), expiryReason },
  };
}

function reasonsOf({ agentId, offer }: Participant, winner: string | null): string[] {
  const { price = 0, etaMs = 0, confidence = 0 } = offer ?? {};
  const terms = [`bids $${price / MICRO_PER_DOLLAR}`, `within ${etaMs} ms`, `confidence ${confidence}`];
  return agentId === winner ? ['has the award', ...terms] : terms;
}
