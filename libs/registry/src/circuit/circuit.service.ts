import { Injectable } from '@nestjs/common';
import { Database, DatabaseBusyError, GroupCommit, localIdOf, Periodic, StopsIn } from '#rollcall/platform';
import { AgentNotFoundError } from '../agents/agent.errors.js';
import { AgentEvents } from '../agents/agent.events.js';
import { GROUP_FAILURE, MAX_ATTEMPTS } from '../agents/group.failure.js';
import type { Directory } from '../discovery/directory/directory.js';
import { RegistryError } from '../errors.js';
import {
  type CircuitInput,
  circuitPhase,
  type CircuitPhase,
  type CircuitPolicy,
  type CircuitState,
  type CircuitStep,
  nextCircuitChange,
  stepCircuit,
} from './circuit.breaker.js';
import { CircuitChanges, type PhaseChange } from './circuit.changes.js';
import { type AgentCircuit, type CircuitRow, CircuitStore, type CircuitWrite, historyOf } from './circuit.store.js';
import {
  type CallOutcome,
  countFailures,
  type FailureReporter,
  type OutcomeReport,
  type ReportedOutcome,
  type Reporter,
  type ReportResult,
} from './outcome.js';
import { OutcomeQueue } from './outcome.queue.js';

/** The circuit of the agent is open, or another caller holds its probe slot. */
export class CircuitOpenError extends RegistryError {
  readonly code = 'CIRCUIT_OPEN';

  constructor(
    agentId: string,
    override readonly retryAfterMs: number,
  ) {
    const seconds = Math.ceil(retryAfterMs / 1_000);
    super(
      `The circuit of the agent "${localIdOf(agentId)}" is open. Call another agent, or call this one again in ${seconds} s.`,
    );
  }
}

export interface CircuitView {
  phase: CircuitPhase;
  consecutiveFailures: number;
  openUntil: string | null;
  /** How long until the next change of the circuit, by the clock of the database. Null if only an outcome can change it. */
  retryAfterMs: number | null;
}

export interface ProbePermit {
  /** Whether the caller has the probe slot and may make the call that tests the agent. */
  claimed: boolean;
  circuit: CircuitView;
  /** When the slot becomes free again. */
  heldUntil: string | null;
}

/** As the time of a change of the directory: the directory stays at its own time. */
const NO_LATER = -Infinity;
const MAX_BATCH = 500;
const RECORD_EVERY_MS = 250;

/**
 * The circuit breakers of all agents. Replicas share their state in one row for each agent, which has a version. Outcomes are committed in
 * groups of two round trips: one locks the circuits, the other writes circuits, outcomes and events. The probe slot is acquired by an
 * update that requires the version that was read. The row of the agent is never locked or changed, so its revision counts no calls.
 */
@Injectable()
export class CircuitService {
  private readonly group: GroupCommit<OutcomeReport, ReportResult>;
  private readonly queue: OutcomeQueue;
  private readonly returning = new Set<Promise<void>>();

  constructor(
    private readonly db: Database,
    private readonly store: CircuitStore,
    private readonly events: AgentEvents,
    private readonly directory: Directory,
    private readonly policy: CircuitPolicy,
  ) {
    this.group = new GroupCommit<OutcomeReport, ReportResult>(db, {
      name: 'outcomes',
      maxBatch: MAX_BATCH,
      commit: async (batch) =>
        await this.db.transaction(
          async () => await this.apply(batch, async (writes) => this.store.writeWithCommit(writes)),
        ),
      ...GROUP_FAILURE,
    });
    this.queue = new OutcomeQueue(async (batch) => await this.group.runAll(batch));
  }

  /**
   * Records the outcome with its reporter. The outcome counts for the circuit and for the observed latency of the agent. Inside a
   * transaction of the caller, it is part of that transaction.
   */
  async report(agentId: string, outcome: CallOutcome, reporter: Reporter): Promise<CircuitView> {
    const report = { agentId, outcome, reporter };
    const [result] = this.db.inTransaction
      ? await this.apply([report], async (writes) => await this.store.write(writes))
      : [await this.group.run(report)];
    if (result.state === 'rejected') throw result.error;
    return viewOf(result.circuit, result.now);
  }

  /**
   * Like `report`, but nobody waits for it: it returns immediately, and the outcome is recorded even if the database is unavailable for a
   * short time. A failure, a probe, and a success that may reset a count of failures are recorded at once; other successes change only
   * statistics and wait up to `RECORD_EVERY_MS` for others. `onLost` is called if the outcome is never recorded.
   */
  reportLater(agentId: string, outcome: CallOutcome, reporter: Reporter, onLost: (error: Error) => void): void {
    const { ok, probeId } = outcome;
    this.queue.add({ agentId, outcome, reporter }, onLost);
    const isStatistic = ok && probeId === undefined && this.directory.circuitOf(agentId)?.consecutiveFailures === 0;
    if (!isStatistic) void this.queue.record();
  }

  /** Records the outcomes that were reported with `reportLater`. */
  @Periodic('registry.record_outcomes', RECORD_EVERY_MS)
  async record(): Promise<void> {
    await this.queue.record();
  }

  /** Resolves when no outcome is being recorded. Outcomes wait on if the database is unavailable. */
  async idle(): Promise<void> {
    await Promise.all(this.returning);
    await this.queue.record();
    await this.group.idle();
  }

  @StopsIn('writes')
  async close(): Promise<void> {
    await this.idle();
    this.queue.abandon();
  }

  /** The latest outcomes of an agent, newest first, before the outcome with this number. */
  async listOutcomes(agentId: string, limit: number, before: string | undefined): Promise<ReportedOutcome[]> {
    const outcomes = await this.store.page(agentId, limit, before);
    if (outcomes.length === 0 && !(await this.store.exists(agentId))) throw new AgentNotFoundError(agentId);
    return outcomes;
  }

  /** Acquires the probe slot of a half-open circuit. Exactly one caller among all replicas gets it. */
  async acquireProbe(agentId: string, probeId: string): Promise<ProbePermit> {
    const { state, acquired, now } = await this.step(agentId, { kind: 'acquire', probeId });
    return { claimed: acquired, circuit: viewOf(state, now), heldUntil: momentOf(state.probe?.expiresAt) };
  }

  /**
   * Admits every call while the circuit is closed. While it is half open, it admits one call as the probe and returns the call's
   * id. It rejects all other calls with a CircuitOpenError that contains the time to wait.
   *
   * If the directory of this replica lists the agent with a closed circuit, the call is admitted without access to the database. The
   * directory learns from the event feed that another replica opened the circuit or that the agent left. Calls that are admitted before
   * that are accepted: their outcomes do not count for an open circuit. The probe is always acquired in the shared row, so there is
   * exactly one.
   */
  async admit(agentId: string, callId: string): Promise<string | undefined> {
    if (this.directory.circuitOf(agentId)?.phase === 'closed') return undefined;
    const { state, acquired, now } = await this.step(agentId, { kind: 'acquire', probeId: callId });
    if (acquired) return callId;
    if (circuitPhase(state, now) === 'closed') return undefined;
    throw new CircuitOpenError(agentId, Math.max((nextCircuitChange(state, now) ?? now) - now, 0));
  }

  /**
   * Frees the slot of a probe that gave no information about the agent, so that the next caller may probe immediately. It returns at once.
   * If the slot cannot be freed, `onFailed` is called, and the slot expires.
   */
  returnProbe(agentId: string, probeId: string, onFailed: (error: unknown) => void): void {
    const returned = this.db.detached(async () => {
      await this.step(agentId, { kind: 'return', probeId }).catch(onFailed);
      this.returning.delete(returned);
    });
    this.returning.add(returned);
  }

  /** Applies a batch in the open transaction. An outcome of an unknown agent is rejected and does not affect the others. */
  private async apply(
    batch: readonly OutcomeReport[],
    write: (writes: readonly CircuitWrite[]) => Promise<void>,
  ): Promise<ReportResult[]> {
    const { circuits, now } = await this.store.lock([...new Set(batch.map(({ agentId }) => agentId))]);
    const changes = new Map(circuits.map((one) => [one.agentId, new CircuitChanges(one, now, this.policy)]));
    const results = batch.map((report): ReportResult => {
      const circuit = changes.get(report.agentId)?.add(report);
      if (!circuit) return { state: 'rejected', error: new AgentNotFoundError(report.agentId) };
      return { state: 'stored', circuit, now };
    });
    const all = [...changes.values()];
    if (all.length === 0) return results;
    for (const { after, phaseChanges } of all)
      for (const change of phaseChanges)
        await this.events.circuitChanged(after, change.step, await this.reportersOf(after.agentId, change));
    await write(all);
    this.showAfterCommit(all.map(({ after }) => after));
    return results;
  }

  /** Reads the circuit, and writes it only if the input changes it and no other writer was faster; otherwise reads it again. */
  private async step(
    agentId: string,
    input: CircuitInput,
  ): Promise<{ state: CircuitState; acquired: boolean; now: number }> {
    for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
      const found = await this.store.find(agentId);
      if (!found) throw new AgentNotFoundError(agentId);
      const { circuit, now } = found;
      const step = stepCircuit(circuit.state, input, now, this.policy);
      const isDone = step.state === circuit.state || (await this.replace(circuit, step));
      if (isDone) return { state: step.state, acquired: step.acquired, now };
    }
    throw new DatabaseBusyError('several callers change the circuit of this agent at the same time');
  }

  private async replace(circuit: AgentCircuit, step: CircuitStep): Promise<boolean> {
    return await this.db.transaction(async () => {
      if (!(await this.store.replace(circuit, step.state))) return false;
      await this.events.circuitChanged(circuit, step);
      this.showAfterCommit([{ ...circuit, state: step.state, version: String(Number(circuit.version) + 1) }]);
      return true;
    });
  }

  private async reportersOf(agentId: string, change: PhaseChange): Promise<FailureReporter[]> {
    const { olderFailures: older, reporters } = change;
    const before = older ? await this.store.reporters(agentId, older.first, older.last) : [];
    return countFailures([...before, ...reporters]);
  }

  /** The directory of this replica does not wait for the event feed. */
  private showAfterCommit(changed: readonly CircuitRow[]): void {
    this.db.afterCommit(() => {
      for (const row of changed) this.directory.recordCalls(row.agentId, historyOf(row), NO_LATER);
    });
  }
}

function viewOf(state: CircuitState, now: number): CircuitView {
  const { consecutiveFailures, openUntil } = state;
  return {
    phase: circuitPhase(state, now),
    consecutiveFailures,
    openUntil: momentOf(openUntil),
    retryAfterMs: openUntil === null ? null : Math.max(0, openUntil - now),
  };
}

function momentOf(time: number | null | undefined): string | null {
  return time === null || time === undefined ? null : new Date(time).toISOString();
}
