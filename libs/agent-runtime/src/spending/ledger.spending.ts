import { Injectable } from '@nestjs/common';
import { isOutage, Periodic, qualifiedId, StopsIn } from '#rollcall/platform';
import {
  BudgetLedger,
  BudgetNotFoundError,
  BudgetsService,
  FLEET,
  type LedgerOp,
  type LedgerOutcome,
  type ReservationKey,
  type Usage,
} from '#rollcall/registry';
import { ReservationRecovery, throwUnlessEnded } from './reservation.recovery.js';
import { RUNTIME_OWNER } from './run.reservations.js';
import { limitError, SpendingLimitError } from './spending.errors.js';
import {
  type Charge,
  type NewRunBudget,
  OpenAccounts,
  type PayingRun,
  type BudgetUsage,
  type Spending,
  type SpendingLimit,
} from './spending.js';

type Scope = Parameters<BudgetsService['shortage']>[0][number];

const RENEW_EVERY_MS = 30_000;

/**
 * Pays for runs from the budget ledger, so all limits apply across replicas: the limits of the run and its ancestors, of the agent, of
 * the caller, of the namespace and of the fleet.
 */
@Injectable()
export class LedgerSpending implements Spending {
  readonly accounts = new OpenAccounts();
  /** Operations that end reservations, and that failed because the database was unavailable. */
  private unsent: LedgerOp[] = [];

  constructor(
    private readonly budgets: BudgetsService,
    private readonly ledger: BudgetLedger,
    private readonly recovery: ReservationRecovery,
  ) {}

  async openRun(run: NewRunBudget): Promise<BudgetUsage> {
    const known = await this.findUsage(run);
    if (known) return known;
    await this.createRun(run);
    return await this.usageOf(run);
  }

  /** Opens the budget of a new run, in the open transaction if there is one. */
  async createRun({ namespace, runId, parentRunId, limit }: NewRunBudget): Promise<void> {
    const id = qualifiedId(namespace, runId);
    const parentId = parentRunId === null ? null : qualifiedId(namespace, parentRunId);
    try {
      await this.budgets.openRun(id, parentId, limit, qualifiedId(namespace, RUNTIME_OWNER));
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'BUDGET_EXISTS') throw error;
    }
  }

  /** Throws a `SpendingLimitError` if a run with this limit could not spend anything. */
  checkLimit(limit: SpendingLimit): void {
    const unit = limit.tokens === 0 ? 'tokens' : limit.microUsd === 0 ? 'microUsd' : undefined;
    if (unit)
      throw new SpendingLimitError(`The budget of the run is 0 ${unit}. Set a higher budget.`, { kind: 'run', unit });
  }

  /** Rejects with `SpendingLimitError` if a new run could not reserve even one token. Reserves nothing. */
  async check(namespace: string, agentId: string, callerId: string): Promise<void> {
    const scopes: Scope[] = [
      { kind: 'namespace', subject: namespace },
      { kind: 'fleet', subject: FLEET },
      { kind: 'agent', subject: qualifiedId(namespace, agentId) },
      { kind: 'caller', subject: qualifiedId(namespace, callerId) },
    ];
    const error = await this.budgets.shortage(scopes, { tokens: 1, microUsd: 0 });
    if (error) throw limitError(error);
  }

  async usageOf(run: PayingRun): Promise<BudgetUsage> {
    const usage = await this.findUsage(run);
    if (!usage) throw new BudgetNotFoundError('run', qualifiedId(run.namespace, run.runId));
    return usage;
  }

  async apply(ops: readonly LedgerOp[]): Promise<readonly LedgerOutcome[]> {
    const outcomes = await this.ledger.apply(ops);
    this.accounts.note(outcomes);
    return outcomes;
  }

  settlement(of: ReservationKey, usage: Usage): LedgerOp {
    return this.ledger.reported(of, usage);
  }

  partialCharge(of: ReservationKey, usage: Usage): LedgerOp {
    return this.ledger.reported(of, usage, 'charge');
  }

  async close(ops: readonly LedgerOp[]): Promise<void> {
    try {
      throwUnlessEnded(await this.apply(ops));
    } catch (error) {
      if (!isOutage(error)) throw error;
      this.unsent.push(...ops);
    }
  }

  async recover(run: PayingRun, charges: readonly Charge[]): Promise<void> {
    await this.recovery.recover(run, charges);
  }

  /** Renews the reservations of runs in progress, and repeats what failed. */
  @Periodic('runtime.renew_reservations', RENEW_EVERY_MS)
  async renew(): Promise<void> {
    await this.repeatUnsent();
    await Promise.all(this.accounts.all.map(async (account) => await account.keep()));
  }

  /** Repeats what failed, before the process ends. */
  @StopsIn('writes')
  async repeatUnsent(): Promise<void> {
    const ops = this.unsent;
    this.unsent = [];
    await this.close(ops);
  }

  private async findUsage({ namespace, runId }: PayingRun): Promise<BudgetUsage | undefined> {
    const [reading] = await this.budgets.of('run', qualifiedId(namespace, runId));
    if (!reading) return undefined;
    const { own, used: subtree, reserved, limit } = reading.budget;
    return { own, subtree, reserved, limit };
  }
}
