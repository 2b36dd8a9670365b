import { Injectable } from '@nestjs/common';
import { qualifiedId } from '#rollcall/platform';
import { BudgetsService } from '#rollcall/registry';
import type { SpendingAmount } from '../spending/spending.js';
import type { Run } from './run.js';
import { isFinal } from './run.status.js';
import { chargedUsage } from './run.usage.js';

/** What the budgets were charged for a run itself, and for the run with its descendants. */
export interface Charged {
  readonly own: SpendingAmount;
  readonly subtree: SpendingAmount;
}

/** Reads from the budget ledger what runs cost, including calls that were aborted and charged after the end of the run. */
@Injectable()
export class RunCharges {
  constructor(private readonly budgets: BudgetsService) {}

  /** Returns the charges by the id of the run. A run without a budget is absent. */
  async of(runs: readonly Run[]): Promise<ReadonlyMap<string, Charged>> {
    const ids = new Map(runs.map(({ namespace, id }) => [qualifiedId(namespace, id), id]));
    if (ids.size === 0) return new Map();
    const readings = await this.budgets.ofAll([...ids.keys()].map((subject) => ({ kind: 'run', subject })));
    return new Map(
      readings.map(({ budget: { subject, own, used } }) => [ids.get(subject) ?? '', { own, subtree: { ...used } }]),
    );
  }

  /** Returns the runs. The usage of a finished run contains everything that was charged. */
  async complete<One extends Run>(runs: readonly One[]): Promise<One[]> {
    return withCharges(runs, await this.of(runs.filter(({ state }) => isFinal(state))));
  }
}

export function withCharges<One extends Run>(runs: readonly One[], charged: ReadonlyMap<string, Charged>): One[] {
  return runs.map((run) => {
    const own = isFinal(run.state) ? charged.get(run.id)?.own : undefined;
    return own ? { ...run, usage: chargedUsage(run.usage, own) } : run;
  });
}
