import { RegistryError } from '../errors.js';
import { available, type Amount, type Budget, type Unit } from './budget.js';

export class BudgetNotFoundError extends RegistryError {
  readonly code = 'BUDGET_NOT_FOUND';

  constructor(which: string) {
    super(`There is no budget ${which}. GET /v1/budgets lists them, POST /v1/budgets makes one.`);
  }
}

export class BudgetExistsError extends RegistryError {
  readonly code = 'BUDGET_EXISTS';

  constructor(kind: string, subject: string, window: string) {
    super(`The ${kind} "${subject}" has a ${window} budget already. Top it up or adjust it.`);
  }
}

export class InvalidBudgetError extends RegistryError {
  readonly code = 'INVALID_BUDGET';
}

/** Without a limit there is nothing to add to. */
export class BudgetUnlimitedError extends RegistryError {
  readonly code = 'BUDGET_UNLIMITED';

  constructor(id: number, unit: Unit) {
    super(`The budget ${id} has no limit of ${unit} that could be raised. Adjust it to set one.`);
  }
}

/** A reservation does not fit. The budget that stands in the way is named with its numbers. */
export class BudgetExhaustedError extends RegistryError {
  readonly code = 'BUDGET_EXHAUSTED';
  override readonly details: Record<string, unknown>;
  override readonly retryAfterMs?: number;

  constructor(budget: Budget, unit: Unit, ask: Amount, now: number) {
    const { id, kind, subject, window, limit, used, reserved, windowEnd } = budget;
    const left = available(budget)[unit] ?? 0;
    super(
      `The ${window} budget ${id} of the ${kind} "${subject}" has ${left} of ${limit[unit]} ${unit} left; ` +
        `${ask[unit]} were asked for. ${windowEnd === null ? 'Top it up' : 'Wait for its next window, or top it up'}.`,
    );
    const facts = { id: String(id), kind, subject, window, unit, limit: limit[unit], used: used[unit] };
    this.details = { budget: { ...facts, reserved: reserved[unit] }, asked: ask[unit] };
    if (windowEnd !== null) this.retryAfterMs = Math.max(0, windowEnd - now);
  }
}

/** A caller without `budgets:write` settles far more than it reserved. The reservation stays as it is. */
export class SettlementTooLargeError extends RegistryError {
  readonly code = 'SETTLEMENT_TOO_LARGE';
  override readonly details: Record<string, unknown>;

  constructor(
    { key, held }: { key: string; held: Amount },
    used: Amount,
    { unit, limit }: { unit: Unit; limit: number },
  ) {
    super(
      `The reservation "${key}" holds ${held[unit]} ${unit}, so you may settle at most ${limit}, not ${used[unit]}. ` +
        'Reserve what a call may use, or have a credential with budgets:write settle it (ROLLCALL_BUDGET_SETTLE_MULTIPLE).',
    );
    this.details = { unit, reserved: held[unit], used: used[unit], limit };
  }
}

/** A caller without `budgets:write` reserves more, or for longer, than one reservation may. */
export class ReservationTooLargeError extends RegistryError {
  readonly code = 'RESERVATION_TOO_LARGE';
  override readonly details: Record<string, unknown>;

  constructor(field: Unit | 'ttlSeconds', asked: number, limit: number) {
    super(
      `One reservation may have at most ${limit} ${field}, not ${asked}, unless its caller has budgets:write. ` +
        `Reserve less, or have the operator raise ${LIMIT_SETTINGS[field]}.`,
    );
    this.details = { field, asked, limit };
  }
}

const LIMIT_SETTINGS: Record<Unit | 'ttlSeconds', string> = {
  tokens: 'ROLLCALL_BUDGET_LARGEST_RESERVATION_TOKENS',
  microUsd: 'ROLLCALL_BUDGET_LARGEST_RESERVATION_MICRO_USD',
  ttlSeconds: 'ROLLCALL_BUDGET_LONGEST_RESERVATION',
};

/** A run would be too far below the root of its tree: each level costs every reservation below it. */
export class RunTreeTooDeepError extends RegistryError {
  readonly code = 'RUN_TREE_TOO_DEEP';
  override readonly details: Record<string, unknown>;

  constructor(runId: string, limit: number) {
    super(
      `The run "${runId}" would be at level ${limit + 1} of its tree; the limit is ${limit}. ` +
        'Delegate from a run nearer to the root, or have the operator raise ROLLCALL_BUDGET_RUN_DEPTH.',
    );
    this.details = { limit };
  }
}

export class ReservationNotFoundError extends RegistryError {
  readonly code = 'RESERVATION_NOT_FOUND';

  constructor(key: string) {
    super(
      `You hold no reservation with the key "${key}". It may be someone else's, or was forgotten long after its end.`,
    );
  }
}

export class ReservationClosedError extends RegistryError {
  readonly code = 'RESERVATION_CLOSED';

  constructor(key: string, state: string) {
    super(`The reservation "${key}" is ${state} already, so this can no longer be done to it.`);
  }
}

export class ReservationKeyReusedError extends RegistryError {
  readonly code = 'RESERVATION_KEY_REUSED';

  constructor(key: string) {
    super(`The key "${key}" belongs to a reservation with other contents. Use a new key for a new reservation.`);
  }
}
