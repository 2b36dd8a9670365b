import { Injectable } from '@nestjs/common';

export type DeliveryResult = 'delivered' | 'failed' | 'parked';

export interface DeliveryCount {
  kind: string;
  result: DeliveryResult;
  events: number;
}

/** Counts the events that this replica tried to deliver, by kind of sink and by result. */
@Injectable()
export class DeliveryCounts {
  private readonly counts = new Map<string, DeliveryCount>();

  add(kind: string, result: DeliveryResult, events: number): void {
    const key = `${kind} ${result}`;
    const before = this.counts.get(key)?.events ?? 0;
    this.counts.set(key, { kind, result, events: before + events });
  }

  all(): DeliveryCount[] {
    return [...this.counts.values()];
  }
}
