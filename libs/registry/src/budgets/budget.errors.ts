import { localIdOf, type Quota } from '#rollcall/platform';
import { RegistryError } from '../errors.js';
import { type Amount, available, type Budget, type BudgetKind, MAX_COUNT, type Unit } from './budget.js';

export class BudgetNotFoundError extends RegistryError {
  readonly code = 'BUDGET_NOT_FOUND';

  /** Accepts the id of the budget, or the kind and subject that have no budget. */
  constructor(...[which, subject]: [id: number] | [kind: BudgetKind, subject: string]) {
    const budget = typeof which === 'number' ? `${which}` : `of the ${which} "${localIdOf(subject ?? '')}"`;
    const route = which === 'run' ? '/v1/budgets/runs' : '/v1/budgets';
    super(`There is no budget ${budget}. GET /v1/budgets lists budgets, POST ${route} creates one.`);
  }
}

export class BudgetExistsError extends RegistryError {
  readonly code = 'BUDGET_EXISTS';

  constructor(kind: string, subject: string, window: string) {
    super(`The ${kind} "${localIdOf(subject)}" already has a ${window} budget. Top it up or adjust it.`);
  }
}

/** The run was opened with another parent or limit. */
export class RunExistsError extends RegistryError {
  readonly code = 'BUDGET_EXISTS';

  constructor(runId: string) {
    super(
      `The run "${localIdOf(runId)}" already has a budget that was opened with another parentRunId or limit. Send the same values ` +
        'again, choose another runId, or top up or adjust the existing budget.',
    );
  }
}

export class InvalidBudgetError extends RegistryError {
  readonly code = 'INVALID_BUDGET';
}

/** A limit or a counter would become too large to be exact. */
export class BudgetOverflowError extends RegistryError {
  readonly code = 'INVALID_BUDGET';

  constructor(id: number, unit: Unit, what: 'limit' | 'usage') {
    super(
      `The ${what} of the budget ${id} would exceed ${MAX_COUNT} ${unit}, the largest number that is exact. ` +
        `Send a smaller amount, or adjust the ${what} of the budget.`,
    );
  }
}

/** A top-up needs a limit that it can raise. */
export class BudgetUnlimitedError extends RegistryError {
  readonly code = 'BUDGET_UNLIMITED';

  constructor(id: number, unit: Unit) {
    super(`The budget ${id} has no limit for ${unit}, so it cannot be topped up. Adjust the budget to set a limit.`);
  }
}

/**
 * A budget has too little left for a reservation. The details contain the numbers of that budget, unless it is the budget of the
 * fleet: its numbers show what other namespaces spend.
 */
export class BudgetExhaustedError extends RegistryError {
  readonly code = 'BUDGET_EXHAUSTED';
  override readonly details: Record<string, unknown>;
  override readonly retryAfterMs?: number;

  constructor(budget: Budget, unit: Unit, requested: Amount, now: number) {
    const { windowEnd } = budget;
    const topUp = `op it up with POST /v1/budgets/${budget.id}/topup`;
    const advice = windowEnd === null ? `T${topUp}` : `Wait for its next window, or t${topUp}`;
    const consequence = requested[unit] === 0 ? ', so nothing can be reserved' : `; ${requested[unit]} are requested`;
    super(`${shortageOf(budget, unit)}${consequence}. ${advice}.`);
    this.details = { budget: detailsOf(budget, unit), asked: requested[unit] };
    if (windowEnd !== null) this.retryAfterMs = Math.max(0, windowEnd - now);
  }
}

/** A budget limits money, so a call without a known price cannot be reserved. */
export class PriceUnknownError extends RegistryError {
  readonly code = 'PRICE_UNKNOWN';

  constructor({ kind, subject }: Budget) {
    const whose = kind === 'fleet' ? 'all namespaces' : `the ${kind} "${localIdOf(subject)}"`;
    super(`The budget of ${whose} limits money, but the price of the call is unknown.`);
  }
}

function shortageOf(budget: Budget, unit: Unit): string {
  const { id, kind, subject, window, limit, reserved } = budget;
  if (kind === 'fleet') return `The ${window} budget of all namespaces has too few ${unit} left`;
  const left = available(budget)[unit] ?? 0;
  const held = reserved[unit] === 0 ? '' : ` (${reserved[unit]} are reserved)`;
  return `The ${window} budget ${id} of the ${kind} "${localIdOf(subject)}" has ${left} of ${limit[unit]} ${unit} left${held}`;
}

function detailsOf({ id, kind, subject, window, limit, used, reserved }: Budget, unit: Unit): Record<string, unknown> {
  const facts = { id: String(id), kind, subject: localIdOf(subject), window, unit };
  return kind === 'fleet' ? facts : { ...facts, limit: limit[unit], used: used[unit], reserved: reserved[unit] };
}

/** A caller without `budgets:write` settles far more than it reserved. The reservation stays unchanged. */
export class SettlementTooLargeError extends RegistryError {
  readonly code = 'SETTLEMENT_TOO_LARGE';
  override readonly details: Record<string, unknown>;

  constructor(
    { key, held }: { key: string; held: Amount },
    used: Amount,
    readonly excess: { unit: Unit; limit: number },
  ) {
    const { unit, limit } = excess;
    super(
      `The reservation "${key}" holds ${held[unit]} ${unit}, so you may settle at most ${limit}, not ${used[unit]}. ` +
        'Reserve as much as a call may use, or settle with a credential that has budgets:write.',
    );
    this.details = { unit, reserved: held[unit], used: used[unit], limit };
  }
}

/** A caller without `budgets:write` exceeds the amount or duration that is allowed for one reservation. */
export class ReservationTooLargeError extends RegistryError {
  readonly code = 'RESERVATION_TOO_LARGE';
  override readonly details: Record<string, unknown>;

  constructor(field: Unit | 'ttlSeconds', asked: number, limit: number) {
    super(
      `Without budgets:write, a reservation may have at most ${limit} ${field}, but ${asked} are requested. ` +
        'Reserve less, or use a credential that has budgets:write.',
    );
    this.details = { field, asked, limit };
  }
}

interface ShareExcess {
  readonly unit: Unit;
  readonly asked: number;
  readonly most: number;
  readonly held: number;
}

/**
 * The credential would hold more than its share of a budget that others use, too. The details do not contain the share of the fleet,
 * because it reveals the limit of the fleet.
 */
export class BudgetShareError extends RegistryError {
  readonly code = 'BUDGET_SHARE_EXCEEDED';
  override readonly details: Record<string, unknown>;

  constructor(budget: Budget, { unit, asked, most, held }: ShareExcess, { limit: percent, setting }: Quota) {
    const { id, kind, subject, window } = budget;
    const left = Math.max(0, most - held);
    const isFleet = kind === 'fleet';
    const which = isFleet
      ? `the ${window} budget of all namespaces`
      : `the ${window} budget ${id} of the ${kind} "${localIdOf(subject)}"`;
    const share = isFleet
      ? `You hold ${held} ${unit}`
      : `Your share is ${most} ${unit}. You hold ${held}, so ${left} are left`;
    super(
      `One credential may hold at most ${percent} % of ${which}, which others use, too. ${share}; ${asked} are requested. ` +
        `Settle or release reservations, reserve less, or ask the operator to raise ${setting}.`,
    );
    const facts = { budget: { id: String(id), kind, subject: localIdOf(subject), window, unit }, asked, held, setting };
    this.details = isFleet ? facts : { ...facts, share: most, left };
  }
}

/** A run would exceed the depth limit of its tree. The limit exists because a reservation locks the budgets of all ancestors. */
export class RunTreeTooDeepError extends RegistryError {
  readonly code = 'RUN_TREE_TOO_DEEP';
  override readonly details: Record<string, unknown>;

  constructor(runId: string, limit: number) {
    super(
      `The run "${localIdOf(runId)}" would be at level ${limit + 1} of its tree; the limit is ${limit}. ` +
        'Delegate from a run nearer to the root.',
    );
    this.details = { limit };
  }
}

export class ReservationNotFoundError extends RegistryError {
  readonly code = 'RESERVATION_NOT_FOUND';

  constructor(key: string) {
    super(
      `You have no reservation with the key "${key}". A reservation with this key may belong to another owner, or it ended long ago and was deleted.`,
    );
  }
}

export class ReservationClosedError extends RegistryError {
  readonly code = 'RESERVATION_CLOSED';

  constructor(key: string, state: string) {
    super(`The reservation "${key}" is already ${state} and can no longer change. Open a new reservation.`);
  }
}

/** A second settlement charges another amount than the first. */
export class ReservationSettledError extends RegistryError {
  readonly code = 'RESERVATION_CLOSED';
  override readonly details: Record<string, unknown>;

  constructor(key: string, used: Amount) {
    super(
      `The reservation "${key}" is already settled with ${used.tokens} tokens and ${used.microUsd} micro-dollars, so it is not ` +
        'charged again. Reserve and settle the difference with a new key, or ask an operator to adjust the budgets.',
    );
    this.details = { used };
  }
}

export class ReservationKeyReusedError extends RegistryError {
  readonly code = 'RESERVATION_KEY_REUSED';

  constructor(key: string) {
    super(`A reservation with the key "${key}" and different contents exists. Use a new key for a new reservation.`);
  }
}
