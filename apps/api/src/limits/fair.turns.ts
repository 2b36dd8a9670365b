import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import { Injectable } from '@nestjs/common';
import { Periodic } from '#rollcall/platform';

/** How many requests of one group a busy replica works on at the same time. */
const IN_TURN = 8;
/** The share of the time in which the event loop works, above which the replica is busy. */
const BUSY = 0.9;
const MEASURED_EVERY_MS = 100;
/** A group that has sent nothing for this time competes with nobody. */
const PRESENT_MS = 1_000;
/** No request waits longer for its turn: the requests before it may wait for something slow. */
const MAX_WAIT_MS = 1_000;

interface Waiter {
  readonly since: number;
  start(): void;
}

interface Group {
  active: number;
  seenAt: number;
  waiting: Waiter[];
}

/**
 * Divides a busy replica between the groups that send requests: namespaces, and all public routes together. While the event loop has no
 * time left and several groups send requests, at most `IN_TURN` requests of each group are in progress, and its other requests wait in
 * order. So the requests of a group that sends too many wait for one another, and not the requests of others, whatever they cost (S-3,
 * S-4, S-13). Otherwise no request waits.
 */
@Injectable()
export class FairTurns {
  private readonly groups = new Map<string, Group>();
  private isBusy = false;
  private last: EventLoopUtilization = performance.eventLoopUtilization();
  /** The time of the last measurement. */
  private now = 0;

  /** Notes that a group sends something that never waits, such as heartbeats. */
  note(name: string): void {
    this.groupOf(name).seenAt = this.now;
  }

  /** Begins a request of a group. Returns undefined, or a promise if the request must wait. Call `end` when the request has ended. */
  begin(name: string): Promise<void> | undefined {
    const group = this.groupOf(name);
    group.seenAt = this.now;
    if (!this.isBusy || group.active < IN_TURN) {
      group.active += 1;
      return undefined;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    group.waiting.push({ since: this.now, start: resolve });
    return promise;
  }

  end(name: string): void {
    const group = this.groupOf(name);
    group.active -= 1;
    if (group.active < IN_TURN) this.startNext(group);
  }

  @Periodic('limits.turns', MEASURED_EVERY_MS)
  async measure(): Promise<void> {
    const current = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(current, this.last);
    this.last = current;
    this.apply(utilization, performance.now());
  }

  /** Applies a new measurement of the event loop. */
  apply(utilization: number, now: number): void {
    this.now = now;
    for (const [name, { active, seenAt, waiting }] of this.groups)
      if (active === 0 && waiting.length === 0 && seenAt < now - PRESENT_MS) this.groups.delete(name);
    this.isBusy = utilization > BUSY && this.groups.size > 1;
    for (const group of this.groups.values())
      while (group.waiting[0] && (!this.isBusy || group.waiting[0].since <= now - MAX_WAIT_MS)) this.startNext(group);
  }

  private startNext(group: Group): void {
    const next = group.waiting.shift();
    if (!next) return;
    group.active += 1;
    next.start();
  }

  private groupOf(name: string): Group {
    let group = this.groups.get(name);
    if (!group) this.groups.set(name, (group = { active: 0, seenAt: this.now, waiting: [] }));
    return group;
  }
}
