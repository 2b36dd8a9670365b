import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import type { AgentBid, BidInvitation } from '#rollcall/providers';
import { DefinitionFacts } from '../definitions/definition.facts.js';
import type { DefinitionContent } from '../definitions/definition.js';

/** What an agent of the provider `native` needs for a task, before it has a history. */
const TYPICAL_TOKENS = 10_000;
const TYPICAL_MS = 60_000;
const MICRO_PER_DOLLAR = 1_000_000;
/** How many of its last runs an agent learns from. */
const HISTORY = 20;
/** Only these runs of the namespace are searched, so that a bid takes a short time. */
const RECENT = 2_000;

interface History {
  readonly runs: number;
  readonly completed: number;
  /** Null without completed runs. */
  readonly microUsd: number | null;
  readonly ms: number | null;
}

interface Bidder {
  readonly namespace: string;
  readonly name: string;
  readonly content: DefinitionContent;
}

/**
 * Bids for agents that Rollcall runs itself: the average cost and time of their last completed runs, or else the price of their model for a typical
 * task. The confidence is the share of the runs that completed.
 */
@Injectable()
export class NativeBids {
  constructor(
    private readonly db: Database,
    private readonly facts: DefinitionFacts,
  ) {}

  async bid(bidder: Bidder, { maxPrice, maxEtaMs }: BidInvitation): Promise<AgentBid> {
    const history = await this.historyOf(bidder);
    const price = history.microUsd ?? this.typicalPrice(bidder);
    if (price === undefined)
      return refusal('The price of its model is unknown. State costModel in the definition, or prices in the preset.');
    const etaMs = Math.max(1, Math.round(history.ms ?? TYPICAL_MS));
    if (maxPrice !== null && price > maxPrice) return refusal(`It costs about ${price} micro-dollars.`);
    if (maxEtaMs !== null && etaMs > maxEtaMs) return refusal(`It needs about ${etaMs} ms.`);
    const confidence = (history.completed + 1) / (history.runs + 2);
    const note = history.runs > 0 ? `from its last ${history.runs} runs` : 'from the price of its model';
    return { price, etaMs, confidence, note };
  }

  private typicalPrice({ namespace, content }: Bidder): number | undefined {
    const { usdPerTask, usdPer1kTokens } = this.facts.costModelOf(namespace, content);
    if (usdPerTask === null && usdPer1kTokens === null) return undefined;
    const usd = (usdPerTask ?? 0) + ((usdPer1kTokens ?? 0) * TYPICAL_TOKENS) / 1_000;
    return Math.round(usd * MICRO_PER_DOLLAR);
  }

  private async historyOf({ namespace, name }: Bidder): Promise<History> {
    const [found] = await this.db.query<History & object>(
      `SELECT count(*)::integer AS runs, count(*) FILTER (WHERE state = 'completed')::integer AS completed,
         round(avg((usage->>'costMicroUsd')::numeric) FILTER (WHERE state = 'completed'))::float8 AS "microUsd",
         (avg(extract(epoch FROM finished_at - started_at) * 1000) FILTER (WHERE state = 'completed'))::float8 AS ms
       FROM (SELECT * FROM (SELECT agent_id, state, usage, started_at, finished_at, seq FROM run
                            WHERE namespace = $1 ORDER BY seq DESC LIMIT $4) AS recent
             WHERE agent_id = $2 AND state IN ('completed', 'failed') ORDER BY seq DESC LIMIT $3) AS last`,
      [namespace, name, HISTORY, RECENT],
    );
    return found ?? { runs: 0, completed: 0, microUsd: null, ms: null };
  }
}

function refusal(note: string): AgentBid {
  return { refuse: true, note };
}
