import { Injectable } from '@nestjs/common';
import { Database, type EventDraft, EventOutbox } from '#rollcall/platform';
import { RunChannel } from '../observe/run.channel.js';
import { RunMeter } from '../observe/run.meter.js';
import { RunWatches } from '../observe/run.watches.js';
import type { Run } from '../run.js';
import type { RunEnd } from '../run.status.js';

const RUNTIME = 'system:runtime';

export type RunSubject = Pick<
  Run,
  | 'id'
  | 'namespace'
  | 'rootId'
  | 'parentId'
  | 'agentId'
  | 'definition'
  | 'state'
  | 'createdAt'
  | 'startedAt'
  | 'finishedAt'
> &
  Partial<Pick<Run, 'conversationId'>>;

/**
 * The events of runs. Each is appended in the transaction of its change. After the commit, the replicas that wait for work, execute
 * the run or follow it get a message. The end of a run is announced to all replicas with the commit, because any of them may have
 * begun to wait for it.
 */
@Injectable()
export class RunEvents {
  constructor(
    private readonly db: Database,
    private readonly outbox: EventOutbox,
    private readonly channel: RunChannel,
    private readonly watches: RunWatches,
    private readonly meter: RunMeter,
  ) {}

  async queued(run: RunSubject, by: string): Promise<void> {
    await this.append([{ ...placeOf(run), type: 'run.queued', data: { ...factOf(run), by } }]);
    this.continued([run]);
    this.db.afterCommit(() => this.channel.send({ type: 'work' }));
  }

  /** The run begins in the transaction that stores it. */
  async startedAtOnce(run: RunSubject, by: string): Promise<void> {
    const queued: EventDraft = { ...placeOf(run), type: 'run.queued', data: { ...factOf(run), by } };
    await this.append([queued, { ...placeOf(run), type: 'run.started', data: factOf(run) }]);
    this.db.afterCommit(() => this.meter.started(run));
  }

  async started(runs: readonly RunSubject[]): Promise<void> {
    await this.append(runs.map((run): EventDraft => ({ ...placeOf(run), type: 'run.started', data: factOf(run) })));
    this.continued(runs);
    this.db.afterCommit(() => runs.forEach((run) => this.meter.started(run)));
  }

  /** Notifies observers of runs that are in progress. */
  continued(runs: readonly RunSubject[]): void {
    this.db.afterCommit(() => runs.forEach(({ id }) => this.watches.changed(id)));
  }

  /** `known` is the run as a read returns it after this end. Without it, the observers on this replica read the run. */
  async ended(ends: readonly { run: RunSubject; end: RunEnd; known?: Run }[]): Promise<void> {
    await this.append(ends.map(({ run, end }) => draftOf(run, end)));
    this.announce(ends.map(({ run, known }) => ({ run, known })));
  }

  /** Records that delegated runs were cancelled, because they were in progress when their root ended. */
  async leftOver(runs: readonly RunSubject[]): Promise<void> {
    await this.append(runs.map((run) => cancellationOf(run, RUNTIME)));
    this.announce(runs.map((run) => ({ run })));
  }

  /** Records that all runs of these trees were cancelled. */
  async cancelled(rootIds: readonly string[], runs: readonly RunSubject[], by: string): Promise<void> {
    await this.append(runs.map((run) => cancellationOf(run, by)));
    this.announce(runs.map((run) => ({ run })));
    this.db.afterCommit(() => rootIds.forEach((rootId) => this.channel.send({ type: 'cancelled', rootId })));
  }

  /** The replicas learn of the ends with the commit, and the observers on this replica directly after it. */
  private announce(ends: readonly { run: RunSubject; known?: Run }[]): void {
    if (ends.length === 0) return;
    this.db.sendWithCommit(this.channel.announcement(ends.map(({ run }) => run.id)));
    const isAwaited = ends.some(({ run }) => run.state !== 'waiting' && (run.conversationId ?? run.id) !== run.id);
    if (isAwaited) this.db.afterCommit(() => this.channel.send({ type: 'work' })); // the next run of the conversation
    this.db.afterCommit(() => {
      for (const { run, known } of ends) {
        this.meter.finished(run);
        this.watches.ended(run.id, known);
      }
    });
  }

  private async append(drafts: readonly EventDraft[]): Promise<void> {
    if (drafts.length > 0) await this.outbox.appendAll(drafts);
  }
}

function cancellationOf(run: RunSubject, by: string): EventDraft {
  return { ...placeOf(run), type: 'run.cancelled', data: { ...factOf(run), by } };
}

function draftOf(run: RunSubject, { state, waitingFor, result }: RunEnd): EventDraft {
  if (state === 'waiting')
    return {
      ...placeOf(run),
      type: 'run.waiting',
      data: { ...factOf(run), waitingFor: waitingFor ?? 'input' },
    };
  const reason = result.reason ?? result.error?.code ?? null;
  return { ...placeOf(run), type: 'run.finished', data: { ...factOf(run), state, reason } };
}

function placeOf({ id, namespace }: RunSubject): { subject: string; namespace: string } {
  return { subject: id, namespace };
}

function factOf({ rootId, parentId, agentId }: RunSubject): Pick<Run, 'rootId' | 'parentId' | 'agentId'> {
  return { rootId, parentId, agentId };
}
