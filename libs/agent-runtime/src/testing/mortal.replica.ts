import type { Charge, Hold, HoldRequest, NewBudget, RunUsage, Spending } from '../spending/spending.js';

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
  constructor(
    private readonly spending: Spending,
    private readonly replica: MortalReplica,
  ) {}

  async openRun(run: NewBudget): Promise<RunUsage> {
    return await this.replica.perform(async () => await this.spending.openRun(run));
  }

  async hold(request: HoldRequest): Promise<Hold> {
    const hold = await this.replica.perform(async () => await this.spending.hold(request));
    return {
      key: hold.key,
      amount: hold.amount,
      settle: async (usage, when) => await this.replica.perform(async () => await hold.settle(usage, when)),
      release: async () => await this.replica.perform(async () => await hold.release()),
    };
  }

  async usageOf(namespace: string, runId: string): Promise<RunUsage> {
    return await this.replica.perform(async () => await this.spending.usageOf(namespace, runId));
  }

  async closeRun(run: { namespace: string; runId: string }): Promise<void> {
    await this.replica.perform(async () => await this.spending.closeRun(run));
  }

  async recover(run: { namespace: string; runId: string }, charges: readonly Charge[]): Promise<void> {
    await this.replica.perform(async () => await this.spending.recover(run, charges));
  }
}
