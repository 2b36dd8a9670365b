import { setTimeout as delay } from 'node:timers/promises';
import type { AgentUsage } from '#rollcall/providers';
import type { HoldRecovery } from '../spending/hold.recovery.js';
import { isCallingModel } from './interrupted.calls.js';
import type { LiveEvent } from './run.live.js';
import type { LogEntry } from './run-log.entry.js';
import { isOutage, type RunLog } from './run.log.js';
import type { RunMeter } from './run.meter.js';
import { RunClosedError, type RunScope } from './run.scope.js';
import type { RunEnd } from './run.status.js';
import type { RunStep } from './run.step.js';
import { chargesIn, reportsIn } from './run.usage.js';
import type { RunWatches } from './run.watches.js';

const RETRY_MS = 200;

export interface JournalParts {
  readonly log: RunLog;
  readonly watches: RunWatches;
  readonly meter: RunMeter;
  readonly scope: RunScope;
  readonly holds: HoldRecovery;
}

/** Records one run while it is executed. Its steps and its end are durable when the methods resolve. */
export class RunJournal {
  isEnded = false;
  /** The agent has its own loop. */
  private isForeign = false;
  /** The calls in progress that must not be repeated. */
  private readonly unsafe = new Set<string>();

  constructor(
    private readonly parts: JournalParts,
    readonly run: LogEntry['run'],
    private seq: number,
  ) {}

  get scope(): RunScope {
    return this.parts.scope;
  }

  /** Rejects with `RunClosedError` if the execution has ended for this replica. */
  async append(step: RunStep): Promise<void> {
    this.countUnsafe(step);
    await this.write({ step: { seq: this.seq + 1, step } });
    this.seq += 1;
    this.isForeign ||= step.type === 'agent-called';
    this.parts.meter.stored(this.run, step, this.isForeign);
    this.parts.watches.stepped(this.run.id);
    this.scope.onStored();
  }

  /** Ends the execution. Nothing is recorded afterwards. */
  async end(end: RunEnd, usage: AgentUsage): Promise<void> {
    this.isEnded = true;
    await this.write({ end: { ...end, usage } });
  }

  /** Ends the execution of a root whose scope was closed for a review. Returns whether the end is stored. */
  async endClosed(end: RunEnd, usage: AgentUsage): Promise<boolean> {
    const { log, scope } = this.parts;
    return (await log.write({ fence: scope.fence, run: this.run, end: { ...end, usage } })) === 'stored';
  }

  /** Ends the holds of an interrupted execution. Charges what these steps cost, and the held amount for a call without a result. */
  async endHolds(steps: readonly RunStep[]): Promise<void> {
    const { namespace, id: runId } = this.run;
    await this.parts.holds.end({ namespace, runId }, chargesIn(reportsIn(steps)), isCallingModel(steps));
  }

  /** An event that is not stored. */
  live(type: LiveEvent['type'], text: string): void {
    this.parts.watches.live(this.run.id, { type, text, afterStep: this.seq });
  }

  /** Tries again while the database is unavailable: a reply that was paid is not lost as long as the lease is valid. */
  private async write(part: Pick<LogEntry, 'step' | 'end'>): Promise<void> {
    const { log, scope } = this.parts;
    for (;;) {
      if (scope.isClosed) throw new RunClosedError();
      const result = await log.write({ fence: scope.fence, run: this.run, ...part });
      if (result === 'stored') return;
      if (result === 'fenced') {
        scope.close();
        throw new RunClosedError();
      }
      if (!isOutage(result.error)) throw result.error;
      await delay(RETRY_MS, undefined, { signal: scope.signal }).catch(() => undefined);
    }
  }

  private countUnsafe(step: RunStep): void {
    if (step.type === 'tool-called' && !step.idempotent) this.beginUnsafe(step.call.id);
    else if (step.type === 'agent-called' && !step.idempotent) this.beginUnsafe(this.run.id);
    else if (step.type === 'tool-finished') this.endUnsafe(step.callId);
    else if (step.type === 'finished') this.endUnsafe(this.run.id);
  }

  private beginUnsafe(callId: string): void {
    this.unsafe.add(callId);
    this.scope.countUnsafe(1);
  }

  private endUnsafe(callId: string): void {
    if (this.unsafe.delete(callId)) this.scope.countUnsafe(-1);
  }
}
