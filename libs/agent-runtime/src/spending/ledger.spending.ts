import { Injectable } from '@nestjs/common';
import { Periodic, qualifiedId, StopsIn } from '#rollcall/platform';
import { BudgetExhaustedError, BudgetLedger, BudgetNotFoundError, BudgetsService } from '#rollcall/registry';
import { LedgerHold } from './ledger.hold.js';
import { type ShortBudget, SpendingLimitError } from './spending.errors.js';
import type { Hold, HoldRequest, RunUsage, Spending } from './spending.js';

/** The principal that owns the reservations of the runtime, in each namespace. */
const RUNTIME = 'system:runtime';
/** After a crash, what the process held is free again after this time. */
const TTL_MS = 120_000;
const RENEW_EVERY_MS = 30_000;

/**
 * Pays for runs from the budget ledger, so all limits hold across replicas: those of the run and its ancestors, of the agent, the
 * namespace and the fleet. Holds are renewed until they end. If the database is unavailable when a call has ended, the
 * charge is repeated until it succeeds; until then, the amount stays held.
 */
@Injectable()
export class LedgerSpending implements Spending {
  private readonly open = new Set<LedgerHold>();

  constructor(
    private readonly budgets: BudgetsService,
    private readonly ledger: BudgetLedger,
  ) {}

  /** A run that has a budget keeps it, with its parent and its limit. */
  async openRun({ namespace, runId, parentRunId, limit }: Parameters<Spending['openRun']>[0]): Promise<void> {
    const id = qualifiedId(namespace, runId);
    const parentId = parentRunId === null ? null : qualifiedId(namespace, parentRunId);
    try {
      await this.budgets.openRun(id, parentId, limit, qualifiedId(namespace, RUNTIME));
    } catch (error) {
      if (codeOf(error) !== 'BUDGET_EXISTS') throw error;
    }
  }

  /** If an earlier hold with this key has ended or has another amount, as after a crash, a new one is opened. */
  async hold(request: HoldRequest): Promise<Hold> {
    for (let copy = 1; ; copy += 1) {
      const hold = await this.reserve(request, copy === 1 ? request.key : `${request.key}~${copy}`);
      if (!hold) continue;
      this.open.add(hold);
      return hold;
    }
  }

  async usageOf(namespace: string, runId: string): Promise<RunUsage> {
    const id = qualifiedId(namespace, runId);
    const [reading] = await this.budgets.of('run', id);
    if (!reading) throw new BudgetNotFoundError('run', id);
    const { own, used, limit } = reading.budget;
    return { own: { ...own }, subtree: { ...used }, limit: { ...limit } };
  }

  /** Renews the holds of calls in progress, and repeats charges that failed. */
  @Periodic('runtime.renew_holds', RENEW_EVERY_MS)
  async renew(): Promise<void> {
    await Promise.all([...this.open].map(async (hold) => await hold.keep(TTL_MS)));
  }

  /** Repeats charges that failed, before the process ends. */
  @StopsIn('writes')
  async stop(): Promise<void> {
    await Promise.all([...this.open].map(async (hold) => await hold.retrySettlement().catch(() => undefined)));
  }

  /** Returns undefined if the key belongs to a hold that cannot be used. */
  private async reserve(request: HoldRequest, key: string): Promise<LedgerHold | undefined> {
    const { namespace, runId, agentId, amount, atLeastTokens } = request;
    const agent = agentId === null ? null : qualifiedId(namespace, agentId);
    const scopes = { agentId: agent, callerId: null, runId: qualifiedId(namespace, runId) };
    const owner = qualifiedId(namespace, RUNTIME);
    const least = atLeastTokens === undefined ? {} : { atLeastTokens };
    try {
      const { state, held } = await this.ledger.reserve({ owner, key, scopes, amount, ...least, ttlMs: TTL_MS });
      if (state !== 'held') return undefined;
      return new LedgerHold(this.ledger, { owner, key }, held, (hold) => this.open.delete(hold));
    } catch (error) {
      if (codeOf(error) === 'RESERVATION_KEY_REUSED') return undefined;
      throw limitError(error);
    }
  }
}

function codeOf(error: unknown): unknown {
  return ((error ?? {}) as { code?: unknown }).code;
}

function limitError(error: unknown): unknown {
  if (!(error instanceof BudgetExhaustedError)) return error;
  const { kind, subject, unit } = error.details['budget'] as ShortBudget;
  const budget = kind === 'fleet' ? { kind, unit } : { kind, subject, unit };
  return new SpendingLimitError(error.message, budget, error.retryAfterMs);
}
