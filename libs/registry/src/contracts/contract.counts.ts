import { Injectable } from '@nestjs/common';

export interface ContractCount {
  /** Such as `announced`, `answered`, `late` or `expired`. */
  event: string;
  /** Why a contract expired; empty for all other events. */
  reason: string;
  count: number;
}

/** Counts what this replica has committed about contracts. */
@Injectable()
export class ContractCounts {
  private readonly counts = new Map<string, ContractCount>();

  add(event: string, reason = ''): void {
    const key = `${event} ${reason}`;
    const count = (this.counts.get(key)?.count ?? 0) + 1;
    this.counts.set(key, { event, reason, count });
  }

  all(): ContractCount[] {
    return [...this.counts.values()];
  }
}
