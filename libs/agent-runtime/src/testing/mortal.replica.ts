import type { LedgerOp, LedgerOutcome, ReservationKey, Usage } from '#rollcall/registry';
import {
  type Charge,
  type NewRunBudget,
  OpenAccounts,
  type PayingRun,
  type BudgetUsage,
  type Spending,
} from '../spending/spending.js';

/** A replica that dies at a given point. Each operation has a point before it and a point after it. */
export class MortalReplica {
  /** The number of operations that took effect. */
  performed = 0;
  private points = 0;
  private readonly death = Promise.withResolvers<'died'>();

  constructor(private readonly diesAt: number) {}

  /** Resolves when the replica has died. */
  get died(): Promise<'died'> {
    return this.death.promise;
  }

  /** Performs the operation. Never resolves if the replica dies before or after it. */
  async perform<Result>(operation: () => Promise<Result>): Promise<Result> {
    await this.pass();
    try {
      return await operation();
    } finally {
      this.performed += 1;
      await this.pass();
    }
  }

  private async pass(): Promise<void> {
    this.points += 1;
    if (this.points <= this.diesAt) return;
    this.death.resolve('died');
    await new Promise(() => undefined);
  }
}

/** The spending of a replica that can die. The effects of its earlier operations remain. */
export class MortalSpending implements Spending {
  readonly accounts = new OpenAccounts();

  constructor(
    private readonly spending: Spending,
    private readonly replica: MortalReplica,
  ) {}

  async openRun(run: NewRunBudget): Promise<BudgetUsage> {
    return await this.replica.perform(async () => await this.spending.openRun(run));
  }

  async usageOf(run: PayingRun): Promise<BudgetUsage> {
    return await this.replica.perform(async () => await this.spending.usageOf(run));
  }

  async apply(ops: readonly LedgerOp[]): Promise<readonly LedgerOutcome[]> {
    return await this.replica.perform(async () => await this.spending.apply(ops));
  }

  settlement(of: ReservationKey, usage: Usage): LedgerOp {
    return this.spending.settlement(of, usage);
  }

  partialCharge(of: ReservationKey, usage: Usage): LedgerOp {
    return this.spending.partialCharge(of, usage);
  }

  async close(ops: readonly LedgerOp[]): Promise<void> {
    await this.replica.perform(async () => await this.spending.close(ops));
  }

  async recover(run: PayingRun, charges: readonly Charge[]): Promise<void> {
    await this.replica.perform(async () => await this.spending.recover(run, charges));
  }
}
