import type { Quota } from '#rollcall/platform';
import { BudgetShareError } from '../budget.errors.js';
import { type Amount, type Budget, type BudgetKind, minus, plus, type Unit, UNITS, ZERO } from '../budget.js';
import type { ReserveRequest } from './reservation.js';

/** What one owner holds on one budget. */
export interface HeldShare {
  readonly owner: string;
  readonly budgetId: number;
  readonly held: Amount;
}

interface SubjectOwner {
  readonly kind: BudgetKind;
  readonly subject: string;
  readonly owner: string | null;
}

/** The amount that one owner may hold on a budget, and what it holds. */
interface BudgetShare {
  readonly most: number;
  readonly held: number;
}

type SharingRequest = Pick<ReserveRequest, 'owner' | 'shareOf'>;

const keyOf = (owner: string, budgetId: number): string => `${owner}\n${budgetId}`;

/**
 * Bounds how much of a budget that others use, too, one credential may hold at the same time: a percentage of its limit. These are the
 * budgets of the fleet, of namespaces, and of agents that another principal registered. `held` is read after the budgets are locked, so
 * the bound is exact (S-10).
 */
export class BudgetShares {
  private readonly held: Map<string, Amount>;
  private readonly agentOwners: Map<string, string | null>;

  constructor(
    private readonly rule: Quota,
    held: readonly HeldShare[],
    owners: readonly SubjectOwner[],
  ) {
    this.held = new Map(held.map((one) => [keyOf(one.owner, one.budgetId), one.held]));
    const ofAgents = owners.filter(({ kind }) => kind === 'agent');
    this.agentOwners = new Map(ofAgents.map(({ subject, owner }) => [subject, owner]));
  }

  /** The most tokens that the request may reserve in addition on all these budgets. */
  tokensLeft(request: SharingRequest, budgets: readonly Budget[]): number {
    return Math.min(
      Infinity,
      ...budgets.map((budget) => {
        const share = this.shareOf(request, budget, 'tokens');
        return share ? Math.max(0, share.most - share.held) : Infinity;
      }),
    );
  }

  /** The error of the first budget on which the owner would hold more than its share. */
  errorOf(request: SharingRequest, budgets: readonly Budget[], amount: Amount): BudgetShareError | undefined {
    for (const budget of budgets) {
      for (const unit of UNITS) {
        const share = this.shareOf(request, budget, unit);
        if (share && amount[unit] > 0 && share.held + amount[unit] > share.most)
          return new BudgetShareError(budget, { unit, asked: amount[unit], ...share }, this.rule);
      }
    }
    return undefined;
  }

  add(owner: string, budgetIds: readonly number[], amount: Amount): void {
    for (const id of budgetIds) this.held.set(keyOf(owner, id), plus(this.heldBy(owner, id), amount));
  }

  remove(owner: string, budgetIds: readonly number[], amount: Amount): void {
    for (const id of budgetIds) this.held.set(keyOf(owner, id), minus(this.heldBy(owner, id), amount));
  }

  private heldBy(owner: string, budgetId: number): Amount {
    return this.held.get(keyOf(owner, budgetId)) ?? ZERO;
  }

  private shareOf(request: SharingRequest, budget: Budget, unit: Unit): BudgetShare | undefined {
    const limit = budget.limit[unit];
    if (limit === null || !this.isShared(request, budget)) return undefined;
    return { most: Math.floor((limit * this.rule.limit) / 100), held: this.heldBy(request.owner, budget.id)[unit] };
  }

  private isShared({ shareOf }: SharingRequest, { kind, subject }: Budget): boolean {
    if (shareOf === undefined || !isBounding(this.rule)) return false;
    if (kind === 'agent') return shareOf === null || this.agentOwners.get(subject) !== shareOf;
    return kind === 'namespace' || kind === 'fleet';
  }
}

/** Whether a percentage bounds anything: 0 disables the rule, and 100 is the limit of the budget itself. */
export function isBounding({ limit }: Quota): boolean {
  return limit > 0 && limit < 100;
}
