import { Injectable } from '@nestjs/common';
import { qualifiedId } from '#rollcall/platform';
import {
  type AgentRecord,
  Directory,
  type DirectoryEntry,
  DirectoryFollower,
  MAX_LIMIT,
  Ranker,
  type Ranking,
  RegistryClock,
  routability,
  StrongReader,
} from '#rollcall/registry';
import { unavailableText } from '../delegation/agent.availability.js';
import { RunTargetUnavailableError, RunTargetUnknownError } from './run.errors.js';

export interface CandidateQuery {
  readonly namespace: string;
  readonly capabilities: readonly string[];
  readonly prefer?: string;
}

/** The candidates of a query, best first. */
export interface Candidates {
  readonly records: readonly AgentRecord[];
  /** The error if none of them can be used. */
  unavailable(): RunTargetUnavailableError;
}

const MAX_EXPLAINED = 20;

/** The registered agents that can execute a run now. */
@Injectable()
export class RunCandidates {
  constructor(
    private readonly ranker: Ranker,
    private readonly directory: Directory,
    private readonly follower: DirectoryFollower,
    private readonly clock: RegistryClock,
    private readonly reader: StrongReader,
  ) {}

  /**
   * Rejects with RUN_TARGET_UNKNOWN, or with RUN_TARGET_UNAVAILABLE if the agent cannot receive work. A draining agent finishes
   * its work, so a run that `hasStarted` can use it.
   */
  async get(namespace: string, agentId: string, hasStarted = false): Promise<AgentRecord> {
    await this.follower.refresh();
    const entry = await this.find(namespace, agentId);
    const now = this.directory.advance(this.clock.now());
    if (!entry) throw new RunTargetUnknownError(agentId);
    const exclusions = routability(entry, now).filter(({ code }) => !hasStarted || code !== 'draining');
    const [first] = exclusions;
    if (!first) return entry.record;
    throw new RunTargetUnavailableError(unavailableText(agentId, first), { exclusions }, first.eligibleWhen.inMs);
  }

  /** An agent that the directory of this replica does not contain yet is read from Postgres. */
  async find(namespace: string, agentId: string): Promise<DirectoryEntry | undefined> {
    const id = qualifiedId(namespace, agentId);
    if (!this.directory.find(id)) await this.reader.read(id);
    return this.directory.find(id);
  }

  /** Whether the directory of this replica contains the agent. An agent that was registered a moment ago may be missing. */
  isListed(namespace: string, agentId: string): boolean {
    return this.directory.find(qualifiedId(namespace, agentId)) !== undefined;
  }

  async rank(query: CandidateQuery): Promise<Candidates> {
    await this.follower.refresh();
    const ranking = this.ranker.rank({ ...query, limit: MAX_LIMIT, explain: true }, this.clock.now());
    const records = ranking.candidates.flatMap(({ agent }) => {
      const record = this.directory.find(qualifiedId(agent.namespace, agent.agentId))?.record;
      return record ? [record] : [];
    });
    return { records, unavailable: () => noneCapable(query.capabilities, ranking) };
  }
}

function noneCapable(capabilities: readonly string[], ranking: Ranking): RunTargetUnavailableError {
  const { excluded = [], unclaimed = [], retryAfterMs } = ranking;
  const message = `No agent with the capabilities ${capabilities.join(', ')} can receive work now. The details explain why each agent was excluded.`;
  const details = { excluded: excluded.slice(0, MAX_EXPLAINED), unclaimed };
  return new RunTargetUnavailableError(message, details, retryAfterMs ?? undefined);
}
