import { Injectable } from '@nestjs/common';
import { Periodic, qualifiedId, StopsIn } from '#rollcall/platform';
import { BudgetExhaustedError, BudgetLedger, BudgetNotFoundError, BudgetsService, FLEET } from '#rollcall/registry';
import { FINAL_PREFIX } from './final.fund.js';
import { LedgerHold, type RunReservation } from './ledger.hold.js';
import { type ShortBudget, SpendingLimitError } from './spending.errors.js';
import type { Charge, Hold, HoldRequest, NewBudget, RunUsage, Spending, SpendingLimit } from './spending.js';

type Scope = Parameters<BudgetsService['shortage']>[0][number];

/** The principal that owns the reservations of the runtime, in each namespace. */
export const RUNTIME_OWNER = 'system:runtime';
/** After a crash, the holds of the process expire after this time. */
const TTL_MS = 120_000;
const RENEW_EVERY_MS = 30_000;
const UNKNOWN = { tokens: null, microUsd: null };
/** The errors of an operation on a reservation that has ended, or ended so long ago that it was deleted. */
const ENDED: ReadonlySet<unknown> = new Set(['RESERVATION_SETTLED', 'RESERVATION_CLOSED', 'RESERVATION_NOT_FOUND']);

/**
 * Pays for runs from the budget ledger, so all limits apply across replicas: the limits of the run and its ancestors, of the
 * agent, of the namespace and of the fleet. Holds are renewed until they end. If the database is unavailable when a call has ended, the
 * charge is repeated until it succeeds; until then, the amount stays held.
 */
@Injectable()
export class LedgerSpending implements Spending {
  private readonly open = new Set<LedgerHold>();

  constructor(
    private readonly budgets: BudgetsService,
    private readonly ledger: BudgetLedger,
  ) {}

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

  /** Rejects with `SpendingLimitError` if a new run could not even reserve one token. Reserves nothing. */
  async check(namespace: string, agentId: string, limit: SpendingLimit): Promise<void> {
    const unit = limit.tokens === 0 ? 'tokens' : limit.microUsd === 0 ? 'microUsd' : undefined;
    if (unit)
      throw new SpendingLimitError(`The budget of the run is 0 ${unit}. Set a higher one.`, { kind: 'run', unit });
    const scopes: Scope[] = [
      { kind: 'namespace', subject: namespace },
      { kind: 'fleet', subject: FLEET },
      { kind: 'agent', subject: qualifiedId(namespace, agentId) },
    ];
    const error = await this.budgets.shortage(scopes, { tokens: 1, microUsd: 0 });
    if (error) throw limitError(error);
  }

  /** Opens a new hold if an earlier hold with this key has ended or has another amount, which can happen after a crash. */
  async hold(request: HoldRequest): Promise<Hold> {
    for (let copy = 1; ; copy += 1) {
      const hold = await this.reserve(request, copy === 1 ? request.key : `${request.key}~${copy}`);
      if (!hold) continue;
      this.open.add(hold);
      return hold;
    }
  }

  async usageOf(namespace: string, runId: string): Promise<RunUsage> {
    const usage = await this.findUsage({ namespace, runId });
    if (!usage) throw new BudgetNotFoundError('run', qualifiedId(namespace, runId));
    return usage;
  }

  async recover({ namespace, runId }: { namespace: string; runId: string }, charges: readonly Charge[]): Promise<void> {
    await this.chargeRecorded({ namespace, runId }, charges);
    const owner = qualifiedId(namespace, RUNTIME_OWNER);
    const held = await this.ledger.heldFor(owner, qualifiedId(namespace, runId));
    await Promise.all(held.map(async (key) => await unlessEnded(this.ledger.release({ owner, key }))));
  }

  /**
   * Ends the holds of a run whose calls in progress are lost and will not be repeated without a new hold. The charges of recorded
   * replies are made. A call in progress is charged as held, because its usage is unknown. What is held for the final call is released.
   */
  async endHolds(
    { namespace, runId }: { namespace: string; runId: string },
    charges: readonly Charge[],
  ): Promise<void> {
    await this.chargeRecorded({ namespace, runId }, charges);
    const owner = qualifiedId(namespace, RUNTIME_OWNER);
    const held = await this.ledger.heldFor(owner, qualifiedId(namespace, runId));
    const end = async (key: string): Promise<unknown> => {
      if (key.startsWith(`${runId}/${FINAL_PREFIX}`)) return await this.ledger.release({ owner, key });
      return await this.ledger.settle({ owner, key }, UNKNOWN);
    };
    await Promise.all(held.map(async (key) => await unlessEnded(end(key))));
  }

  /** Makes the charges of recorded replies, unless they have been made already. Also charges reservations that have expired. */
  async chargeRecorded(
    { namespace, runId }: { namespace: string; runId: string },
    charges: readonly Charge[],
  ): Promise<void> {
    const recorded = charges.map(async ({ key, tokens, microUsd }) => {
      const of = reservationOf(namespace, runId, key);
      await unlessEnded(this.ledger.settle(of, { tokens, microUsd }));
    });
    await Promise.all(recorded);
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

  private async findUsage({ namespace, runId }: Pick<NewBudget, 'namespace' | 'runId'>): Promise<RunUsage | undefined> {
    const [reading] = await this.budgets.of('run', qualifiedId(namespace, runId));
    if (!reading) return undefined;
    const { own, used, reserved, limit } = reading.budget;
    return { own: { ...own }, subtree: { ...used }, held: { ...reserved }, limit: { ...limit } };
  }

  /** Returns undefined if the key belongs to a hold that cannot be used. */
  private async reserve(request: HoldRequest, name: string): Promise<LedgerHold | undefined> {
    const { namespace, runId, agentId, amount, atLeastTokens } = request;
    const agent = agentId === null ? null : qualifiedId(namespace, agentId);
    const scopes = { agentId: agent, callerId: null, runId: qualifiedId(namespace, runId) };
    const of = reservationOf(namespace, runId, name);
    const { owner, key } = of;
    const least = atLeastTokens === undefined ? {} : { atLeastTokens };
    const terms = { amount, ...least, agentMayLackBudget: true, ttlMs: TTL_MS };
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

function reservationOf(namespace: string, runId: string, name: string): RunReservation {
  return { owner: qualifiedId(namespace, RUNTIME_OWNER), key: `${runId}/${name}`, name };
}

async function unlessEnded(operation: Promise<unknown>): Promise<void> {
  try {
    await operation;
  } catch (error) {
    if (!ENDED.has(codeOf(error))) throw error;
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
