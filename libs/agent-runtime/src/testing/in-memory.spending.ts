import { qualifiedId } from '#rollcall/platform';
import {
  type Budget,
  type BudgetKind,
  isRejectedReservation,
  LedgerBatch,
  type LedgerOp,
  type LedgerOutcome,
  type LockedReservation,
  type ReservationKey,
  type Usage,
} from '#rollcall/registry';
import { recoveryOf, throwUnlessEnded } from '../spending/reservation.recovery.js';
import {
  type Charge,
  type NewRunBudget,
  OpenAccounts,
  type PayingRun,
  type BudgetUsage,
  type Spending,
  type SpendingAmount,
  type SpendingLimit,
} from '../spending/spending.js';

const NOTHING = { tokens: 0, microUsd: 0 };
const SETTLE_MULTIPLE = 10;

/** Pays from budgets in memory, with the rules of the ledger. For tests and benchmarks of one process. */
export class InMemorySpending implements Spending {
  readonly accounts = new OpenAccounts();
  private readonly budgets = new Map<number, Budget>();
  private readonly ids = new Map<string, number>();
  private readonly held = new Map<string, LockedReservation>();

  /** Gives an agent or a caller a budget. */
  limit(kind: 'agent' | 'caller', namespace: string, subject: string, limit: SpendingLimit): void {
    this.open(kind, qualifiedId(namespace, subject), limit, []);
  }

  /** The sum of all amounts that are reserved on the budget of a run. */
  heldBy(namespace: string, runId: string): SpendingAmount {
    return this.budgetOf({ namespace, runId }).reserved;
  }

  async openRun({ namespace, runId, parentRunId, limit }: NewRunBudget): Promise<BudgetUsage> {
    const subject = qualifiedId(namespace, runId);
    const parent = parentRunId === null ? undefined : this.budgetOf({ namespace, runId: parentRunId });
    if (!this.ids.has(keyOf('run', subject)))
      this.open('run', subject, limit, parent ? [...parent.path, parent.id] : []);
    return await this.usageOf({ namespace, runId });
  }

  async usageOf(run: PayingRun): Promise<BudgetUsage> {
    const { own, used: subtree, reserved, limit } = this.budgetOf(run);
    return { own, subtree, reserved, limit };
  }

  async apply(ops: readonly LedgerOp[]): Promise<readonly LedgerOutcome[]> {
    const batch = new LedgerBatch(this.concernedBy(ops), this.reservationsIn(ops), 0);
    const outcomes: LedgerOutcome[] = [];
    for (const op of ops) {
      const outcome = batch.apply(op);
      outcomes.push(outcome);
      if (isRejectedReservation(op, outcome)) break;
    }
    const { budgets, opened, charged, closed } = batch.writes();
    for (const budget of budgets) this.budgets.set(budget.id, budget);
    for (const one of [...opened, ...charged])
      if (one.state === 'held') this.held.set(nameOf(one), one as LockedReservation);
    for (const one of closed) this.held.delete(nameOf(one));
    this.accounts.note(outcomes);
    return outcomes;
  }

  settlement(of: ReservationKey, usage: Usage): LedgerOp {
    return { op: 'settle', of, usage, atMostTimes: SETTLE_MULTIPLE, isCapped: true };
  }

  partialCharge(of: ReservationKey, usage: Usage): LedgerOp {
    return { op: 'charge', of, usage, atMostTimes: SETTLE_MULTIPLE, isCapped: true };
  }

  async close(ops: readonly LedgerOp[]): Promise<void> {
    throwUnlessEnded(await this.apply(ops));
  }

  async recover(run: PayingRun, charges: readonly Charge[]): Promise<void> {
    const runId = qualifiedId(run.namespace, run.runId);
    const held = [...this.held.values()].filter(({ scopes }) => scopes.runId === runId);
    await this.close(recoveryOf(run, held, charges, (of, usage) => this.settlement(of, usage)));
  }

  private open(kind: BudgetKind, subject: string, limit: SpendingLimit, path: readonly number[]): void {
    const id = this.budgets.size + 1;
    this.ids.set(keyOf(kind, subject), id);
    this.budgets.set(id, {
      id,
      kind,
      subject,
      window: 'total',
      timeZone: 'UTC',
      path,
      limit,
      low: { tokens: null, microUsd: null },
      used: NOTHING,
      own: NOTHING,
      reserved: NOTHING,
      reports: { charged: 0, offset: 0 },
      windowStart: 0,
      windowEnd: null,
      source: 'test',
      declared: false,
      version: 1,
    });
  }

  private budgetOf({ namespace, runId }: PayingRun): Budget {
    const budget = this.budgets.get(this.ids.get(keyOf('run', qualifiedId(namespace, runId))) ?? 0);
    if (!budget) throw new Error(`The run ${runId} has no budget.`);
    return budget;
  }

  private reservationsIn(ops: readonly LedgerOp[]): LockedReservation[] {
    const keys = ops.flatMap((op) => ('of' in op ? [op.of] : op.op === 'reserve' ? [op.request] : []));
    return keys.map((key) => this.held.get(nameOf(key))).filter((one) => one !== undefined);
  }

  private concernedBy(ops: readonly LedgerOp[]): Budget[] {
    const ids = new Set(this.reservationsIn(ops).flatMap(({ budgetIds }) => budgetIds));
    for (const op of ops) {
      if (op.op !== 'reserve') continue;
      const { agentId, callerId, runId } = op.request.scopes;
      for (const [kind, subject] of [
        ['agent', agentId],
        ['caller', callerId],
        ['run', runId],
      ] as const) {
        const id = subject === null ? undefined : this.ids.get(keyOf(kind, subject));
        for (const one of id === undefined ? [] : [id, ...(this.budgets.get(id)?.path ?? [])]) ids.add(one);
      }
    }
    return [...ids].map((id) => this.budgets.get(id)).filter((budget) => budget !== undefined);
  }
}

function keyOf(kind: string, subject: string): string {
  return `${kind}\n${subject}`;
}

function nameOf({ owner, key }: ReservationKey): string {
  return `${owner}\n${key}`;
}
