import { Injectable } from '@nestjs/common';
import type { AgentQuery } from './agent.query.js';
import { CandidateStore, type MatchedRow } from './candidate.store.js';
import type { Directory } from './directory.js';
import { isNewer, type DirectoryEntry } from './directory.entry.js';
import { DirectorySync } from './directory.sync.js';
import { planQuery, type QueryPlan } from './query.plan.js';
import { Search } from './search.js';
import type { Strategies } from './strategies/strategies.js';

/** More are asked for in several statements. */
const SLICE = 2_000;

/**
 * Makes the directory as true as Postgres for one query, so that it sees what any replica has committed before it was asked.
 * Postgres is asked, by its index of capabilities, which agents match and how new they are; only those this replica does not
 * know as new as that are read. The cost grows with the candidates, not with the fleet. A query that names no capability,
 * or takes similar ones, may mean anybody: for it the whole fleet is read.
 */
@Injectable()
export class StrongReader {
  private underWay?: Promise<number>;
  private next?: Promise<number>;

  constructor(
    private readonly directory: Directory,
    private readonly strategies: Strategies,
    private readonly candidates: CandidateStore,
    private readonly sync: DirectorySync,
  ) {}

  /** Answers how many agents had to be read. */
  async prepare(query: AgentQuery): Promise<number> {
    const plan = planQuery(query, this.directory.aliases, this.strategies);
    const groups = this.groupsOf(plan);
    if (groups.length === 0 || plan.fuzzy) return await this.readFleet();
    const matched = await this.candidates.matching(groups);
    this.sync.applyBeats(matched, await this.sync.time());
    const present = new Set(matched.map(({ agentId }) => agentId));
    const stale = [...matched.filter((row) => this.isNews(row)).map(idOf), ...this.goneFrom(plan, present)];
    for (let at = 0; at < stale.length; at += SLICE) await this.sync.refresh(stale.slice(at, at + SLICE));
    return stale.length;
  }

  /** Whoever asks while the fleet is being read shares the reading after it: this one may be past what they must see. */
  private async readFleet(): Promise<number> {
    this.next ??= this.readNext();
    return await this.next;
  }

  private async readNext(): Promise<number> {
    await Promise.allSettled([this.underWay]);
    this.next = undefined;
    this.underWay = this.sync.load();
    return await this.underWay;
  }

  /** Each is a list of words of which an agent must have one. To explain, who has one of all of them is near enough. */
  private groupsOf({ all, any, explain }: QueryPlan): string[][] {
    const words = (asked: readonly string[]): string[] =>
      asked.flatMap((one) => this.directory.aliases.searchKeysFor(one));
    const groups = [...all.map((one) => words([one])), ...(any.length > 0 ? [words(any)] : [])];
    return explain && groups.length > 0 ? [groups.flat()] : groups;
  }

  private isNews({ agentId, generation, revision, budgetVersions }: MatchedRow): boolean {
    const known = this.directory.find(agentId);
    if (!known) return true;
    const write = { generation: Number(generation), revision: Number(revision) };
    const isCharged = Number(budgetVersions) > budgetVersionsOf(known);
    return isCharged || isNewer(write, { generation: known.record.generation, revision: known.revision });
  }

  /** Who would be found here, and no longer matches there. */
  private goneFrom(plan: QueryPlan, present: ReadonlySet<string>): string[] {
    const found = [...new Search(plan, this.directory.index).capable()].map(idOf);
    return found.filter((agentId) => !present.has(agentId));
  }
}

function budgetVersionsOf({ budgets = [] }: DirectoryEntry): number {
  return budgets.reduce((sum, { version }) => sum + version, 0);
}

const idOf = ({ agentId }: { agentId: string }): string => agentId;
