import { Injectable } from '@nestjs/common';
import { DatabaseUnavailableError, localIdOf } from '#rollcall/platform';
import type { LeaveReason } from '../../agents/agent.record.js';
import type { ExcludedAgent } from '../ranking/ranking.js';
import type { AgentQuery } from '../ranking/agent.query.js';
import { planQuery, type QueryPlan } from '../ranking/query.plan.js';
import { Search } from '../ranking/search.js';
import { Strategies } from '../ranking/strategies.js';
import { CandidateStore, type DepartedRow, type MatchedRow } from './candidate.store.js';
import { type DirectoryEntry, isNewer } from './directory.entry.js';
import { Directory } from './directory.js';
import { DirectorySync } from './directory.sync.js';

/** The number of agents that one statement reads. */
const SLICE = 2_000;

/**
 * Updates the directory from Postgres before a query, so that the query sees all changes that any replica committed earlier. It
 * first finds the matching agents and their versions by the index on capability keys, then reads only the agents that are newer
 * than in the directory. The cost depends on the number of candidates, not on the size of the fleet. For a query without
 * capabilities or with `fuzzy`, any agent may match, so it reads the whole fleet.
 */
@Injectable()
export class StrongReader {
  private currentRead?: Promise<number>;
  private nextRead?: Promise<number>;

  constructor(
    private readonly directory: Directory,
    private readonly strategies: Strategies,
    private readonly candidates: CandidateStore,
    private readonly sync: DirectorySync,
  ) {}

  /** Returns how many agents it read completely. */
  async prepare(query: AgentQuery): Promise<number> {
    const plan = planQuery(query, this.directory.aliases, this.strategies);
    const groups = this.groupsOf(plan);
    if (groups.length === 0 || plan.fuzzy) return await this.readFleet();
    // an explanation also shows near matches, so one group is enough for it
    const matched = await this.candidates.matching(plan.namespace, plan.explain ? [groups.flat()] : groups);
    this.sync.applyBeats(matched, await this.sync.time());
    const present = new Set(matched.map(({ agentId }) => agentId));
    const stale = [...matched.filter((row) => this.isOutdated(row)).map(idOf), ...this.noLongerMatching(plan, present)];
    for (let at = 0; at < stale.length; at += SLICE) await this.sync.refresh(stale.slice(at, at + SLICE));
    return stale.length;
  }

  /** Reads one agent, by its qualified id. */
  async read(agentId: string): Promise<void> {
    await this.sync.refresh([agentId]);
  }

  /** The agents that would match if they had not left recently. While the database is unavailable, an explanation does not contain them. */
  async departed(plan: QueryPlan): Promise<ExcludedAgent[]> {
    try {
      return (await this.candidates.departed(plan.namespace, this.groupsOf(plan))).map(toExcluded);
    } catch (error) {
      if (error instanceof DatabaseUnavailableError) return [];
      throw error;
    }
  }

  /** Callers that arrive during a read share the next one, because the current read may miss changes that they must see. */
  private async readFleet(): Promise<number> {
    this.nextRead ??= this.readNext();
    return await this.nextRead;
  }

  private async readNext(): Promise<number> {
    await Promise.allSettled([this.currentRead]);
    this.nextRead = undefined;
    this.currentRead = this.sync.load();
    return await this.currentRead;
  }

  /** An agent must have at least one key of each group. */
  private groupsOf({ all, any }: QueryPlan): string[][] {
    const keys = (requested: readonly string[]): string[] =>
      requested.flatMap((one) => this.directory.aliases.searchKeysFor(one));
    return [...all.map((one) => keys([one])), ...(any.length > 0 ? [keys(any)] : [])];
  }

  private isOutdated({ agentId, generation, revision, budgetVersions, circuitVersion }: MatchedRow): boolean {
    const known = this.directory.find(agentId);
    if (!known) return true;
    const write = { generation: Number(generation), revision: Number(revision) };
    const isCharged = Number(budgetVersions) > budgetVersionsOf(known);
    const wasCalled = Number(circuitVersion) > known.circuitVersion;
    return isCharged || wasCalled || isNewer(write, { generation: known.record.generation, revision: known.revision });
  }

  /** The agents that match in the directory but not in Postgres. */
  private noLongerMatching(plan: QueryPlan, present: ReadonlySet<string>): string[] {
    const found = [...new Search(plan, this.directory.indexOf(plan.namespace)).capable()].map(idOf);
    return found.filter((agentId) => !present.has(agentId));
  }
}

function budgetVersionsOf({ budgets = [] }: DirectoryEntry): number {
  return budgets.reduce((sum, { version }) => sum + version, 0);
}

const idOf = ({ agentId }: { agentId: string }): string => agentId;

const REASONS: Record<LeaveReason, string> = {
  deregistered: 'it was deregistered',
  shutdown: 'it deregistered because its process ended',
  drained: 'it deregistered after an operator drained it',
  budget_exhausted: 'it deregistered because its budget was exhausted',
  quarantined: 'an operator quarantined and evicted it',
  evicted: 'it was evicted: it missed its heartbeats, or an operator evicted it',
  replaced: 'another registration replaced it',
};

/** Explains why an agent that left is not a candidate. */
function toExcluded({ agentId, name, leaveReason, agoMs }: DepartedRow): ExcludedAgent {
  const text = `it left ${Math.round(agoMs / 1_000)} s ago (${leaveReason}): ${REASONS[leaveReason]}`;
  return {
    agentId: localIdOf(agentId),
    name,
    exclusions: [{ code: 'left', text, eligibleWhen: { text: 'it registers again' } }],
  };
}
