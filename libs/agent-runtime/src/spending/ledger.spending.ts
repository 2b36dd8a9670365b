import { Injectable } from '@nestjs/common';
import { Periodic, qualifiedId, StopsIn } from '#rollcall/platform';
import {
  BudgetExhaustedError,
  BudgetLedger,
  BudgetNotFoundError,
  BudgetsService,
  FLEET,
  type Scopes,
} from '#rollcall/registry';
import { CallAllowance } from './call.allowance.js';
import { exceeds, sharedKey } from './hold.key.js';
import { HoldRecovery } from './hold.recovery.js';
import { codeOf, LedgerHold, type PayingRun, reservationOf, RUNTIME_OWNER } from './ledger.hold.js';
import { type ShortBudget, SpendingLimitError } from './spending.errors.js';
import type {
  Charge,
  Hold,
  HoldRequest,
  NewBudget,
  RunUsage,
  Spending,
  SpendingAmount,
  SpendingLimit,
} from './spending.js';

type Scope = Parameters<BudgetsService['shortage']>[0][number];

/** After a crash, the holds of the process expire after this time. */
const TTL_MS = 120_000;
const RENEW_EVERY_MS = 30_000;
/** The number of further calls for which an amount is held in advance. */
const CALLS_AHEAD = 3;
const NOTHING = { tokens: 0, microUsd: 0 };

/**
 * Pays for runs from the budget ledger, so all limits apply across replicas: the limits of the run and its ancestors, of the
 * agent, of the namespace and of the fleet. Holds are renewed until they end. If the database is unavailable when a call has ended, the
 * charge is repeated until it succeeds; until then, the amount stays held.
 */
@Injectable()
export class LedgerSpending implements Spending {
  private readonly open = new Set<LedgerHold>();
  /** By the qualified id of the run. */
  private readonly allowances = new Map<string, CallAllowance>();
  private readonly recovery: HoldRecovery;

  constructor(
    private readonly budgets: BudgetsService,
    private readonly ledger: BudgetLedger,
  ) {
    this.recovery = new HoldRecovery(ledger);
  }

  async openRun(run: NewBudget): Promise<RunUsage> {
    const known = await this.findUsage(run);
    if (known) return known;
    await this.createRun(run);
    return await this.usageOf(run.namespace, run.runId);
  }

  /** Opens the budget of a new run, in the open transaction if there is one. */
  async createRun({ namespace, runId, parentRunId, limit }: NewBudget): Promise<void> {
    const id = qualifiedId(namespace, runId);
    const parentId = parentRunId === null ? null : qualifiedId(namespace, parentRunId);
    try {
      await this.budgets.openRun(id, parentId, limit, qualifiedId(namespace, RUNTIME_OWNER));
    } catch (error) {
      if (codeOf(error) !== 'BUDGET_EXISTS') throw error;
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

  /**
   * Consecutive calls of one run share a reservation, as long as it covers them. Near the limit of a budget, and while another call
   * of the run is in progress, a call gets its own reservation.
   */
  async hold(request: HoldRequest): Promise<Hold> {
    if (!request.isRepeated) return await this.openHold(request);
    const runId = qualifiedId(request.namespace, request.runId);
    const known = this.allowances.get(runId);
    const part = known?.lend(request);
    if (part) return part;
    const shared = { ...request, key: sharedKey(request.key, request.amount) };
    if (known?.isInUse) return await this.openHold(shared);
    // the ledger settles first, so the new reservation can use the rest of the closed one
    const [, hold] = await Promise.all([known?.close(), this.openHold(shared, amountAhead(request.amount))]);
    if (!exceeds(hold.amount, request.amount)) return hold;
    const allowance = new CallAllowance(hold, request.agentId, (closed) => this.forget(runId, closed));
    this.allowances.set(runId, allowance);
    return allowance.lend(request) ?? hold;
  }

  async usageOf(namespace: string, runId: string): Promise<RunUsage> {
    const usage = await this.findUsage({ namespace, runId });
    if (!usage) throw new BudgetNotFoundError('run', qualifiedId(namespace, runId));
    return usage;
  }

  async closeRun({ namespace, runId }: PayingRun): Promise<void> {
    await this.allowances.get(qualifiedId(namespace, runId))?.close();
  }

  async recover(run: PayingRun, charges: readonly Charge[]): Promise<void> {
    this.allowances.delete(qualifiedId(run.namespace, run.runId));
    await this.recovery.recover(run, charges);
  }

  /** Renews the holds of calls in progress, and repeats charges that failed. */
  @Periodic('runtime.renew_holds', RENEW_EVERY_MS)
  async renew(): Promise<void> {
    await Promise.all([...this.open].map(async (hold) => await hold.keep(TTL_MS)));
    await Promise.all([...this.allowances.values()].map(async (allowance) => await allowance.chargeUsed()));
  }

  /** Repeats charges that failed, before the process ends. */
  @StopsIn('writes')
  async stop(): Promise<void> {
    await Promise.all([...this.open].map(async (hold) => await hold.retrySettlement().catch(() => undefined)));
  }

  private forget(runId: string, allowance: CallAllowance): void {
    if (this.allowances.get(runId) === allowance) this.allowances.delete(runId);
  }

  private async findUsage({ namespace, runId }: PayingRun): Promise<RunUsage | undefined> {
    const id = qualifiedId(namespace, runId);
    const [reading] = await this.budgets.of('run', id);
    if (!reading) return undefined;
    const { own, used, reserved, limit } = reading.budget;
    const { tokens, microUsd } = this.allowances.get(id)?.uncharged ?? NOTHING;
    const more = (one: SpendingAmount, sign = 1): SpendingAmount => ({
      tokens: one.tokens + sign * tokens,
      microUsd: one.microUsd + sign * microUsd,
    });
    return { own: more(own), subtree: more(used), held: more(reserved, -1), limit: { ...limit } };
  }

  /** After a crash, an earlier hold with this key may have ended, or may have another amount. If so, opens a hold with a new key. */
  private async openHold(request: HoldRequest, ahead?: SpendingAmount): Promise<LedgerHold> {
    for (let copy = 1; ; copy += 1) {
      const hold = await this.reserve(request, copy === 1 ? request.key : `${request.key}~${copy}`, ahead);
      if (!hold) continue;
      this.open.add(hold);
      return hold;
    }
  }

  /** Returns undefined if the key belongs to a hold that cannot be used. */
  private async reserve(
    request: HoldRequest,
    name: string,
    ahead: SpendingAmount | undefined,
  ): Promise<LedgerHold | undefined> {
    const { namespace, runId, amount, atLeastTokens } = request;
    const scopes = scopesOf(request);
    const of = reservationOf(namespace, runId, name);
    const { owner, key } = of;
    const least = atLeastTokens === undefined ? {} : { atLeastTokens };
    const terms = { amount, ...least, ...(ahead && { ahead }), agentMayLackBudget: true, ttlMs: TTL_MS };
    try {
      const { state, held } = await this.ledger.reserve({ owner, key, scopes, ...terms });
      if (state !== 'held') return undefined;
      return new LedgerHold(this.ledger, of, held, (hold) => this.open.delete(hold));
    } catch (error) {
      if (codeOf(error) === 'RESERVATION_KEY_REUSED') return undefined;
      throw limitError(error);
    }
  }
}

/** The budgets that pay for a call of a run: of the run, its agent and its caller. The ledger adds the runs above it, the namespace and the fleet. */
function scopesOf({ namespace, runId, agentId, callerId }: HoldRequest): Scopes {
  const qualified = (id: string | null): string | null => (id === null ? null : qualifiedId(namespace, id));
  return { agentId: qualified(agentId), callerId: qualified(callerId), runId: qualifiedId(namespace, runId) };
}

function amountAhead({ tokens, microUsd }: SpendingAmount): SpendingAmount {
  return { tokens: tokens * CALLS_AHEAD, microUsd: microUsd * CALLS_AHEAD };
}

function limitError(error: unknown): unknown {
  if (!(error instanceof BudgetExhaustedError)) return error;
  const { kind, subject, unit } = error.details['budget'] as ShortBudget;
  const budget = kind === 'fleet' ? { kind, unit } : { kind, subject, unit };
  return new SpendingLimitError(error.message, budget, error.retryAfterMs);
}
