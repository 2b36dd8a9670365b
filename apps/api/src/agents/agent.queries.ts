import { Injectable } from '@nestjs/common';
import { DirectoryFollower, Ranker, RegistryClock, StrongReader } from '#rollcall/registry';
import type { Principal } from '../auth/principal.js';
import { QueryReader } from './query.reader.js';

export interface QueryAnswer {
  /** A `RankingView`. */
  readonly json: string;
  /** The age of the directory in seconds, if it cannot catch up with the event log. */
  readonly age?: number;
}

/** Answers queries for agents, for all protocols. */
@Injectable()
export class AgentQueries {
  constructor(
    private readonly ranker: Ranker,
    private readonly strong: StrongReader,
    private readonly follower: DirectoryFollower,
    private readonly clock: RegistryClock,
    private readonly queries: QueryReader,
  ) {}

  /** `body` is not validated yet. `signal` ends the wait for bids. */
  async answer(body: unknown, caller: Principal, signal: () => AbortSignal): Promise<QueryAnswer> {
    if (this.queries.contracts.accepts(body))
      return { json: JSON.stringify(await this.queries.contracts.rank(body, caller, signal())) };
    const { namespace } = caller;
    const planned = this.queries.find(namespace, body) ?? (await this.queries.read(namespace, body));
    const { query, plan, strong } = planned;
    let age: number | undefined;
    if (strong) await this.strong.prepare(query);
    else if (!this.follower.isFresh) age = await this.refresh();
    const departed = plan.explain ? await this.strong.departed(plan) : [];
    return { json: this.ranker.rankJson(plan, this.clock.now(), departed), age };
  }

  private async refresh(): Promise<number | undefined> {
    await this.follower.refresh();
    return this.follower.isFresh ? undefined : Math.round(this.follower.ageMs() / 1_000);
  }
}
