import { qualifiedId } from '#rollcall/platform';
import type { Budget, LedgerOutcome } from '#rollcall/registry';
import type { PayingRun } from './spending.js';

/** The reservations of one execution of a run. */
export interface OpenAccount {
  readonly run: PayingRun;
  /** Keeps the reservations open, and charges what is stored so far, so that the budgets show it while the run continues. */
  keep(): Promise<void>;
  /** The budget of the run has changed. */
  note(budget: Budget): void;
}

/** The runs of this process that have reservations. */
export class OpenAccounts {
  private readonly byRun = new Map<string, Set<OpenAccount>>();

  add(account: OpenAccount): void {
    const id = idOf(account);
    this.byRun.set(id, (this.byRun.get(id) ?? new Set()).add(account));
  }

  remove(account: OpenAccount): void {
    const id = idOf(account);
    const accounts = this.byRun.get(id);
    accounts?.delete(account);
    if (accounts?.size === 0) this.byRun.delete(id);
  }

  get all(): OpenAccount[] {
    return Array.from(this.byRun.values(), (accounts) => Array.from(accounts)).flat();
  }

  /** An operation of a delegated run also changes the budgets of the runs above it, which are executed by the same process. */
  note(outcomes: readonly LedgerOutcome[]): void {
    for (const outcome of outcomes)
      for (const budget of (outcome.ok && outcome.runs) || [])
        for (const account of this.byRun.get(budget.subject) ?? []) account.note(budget);
  }
}

function idOf({ run: { namespace, runId } }: OpenAccount): string {
  return qualifiedId(namespace, runId);
}
