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
  readonly details: Record<string, unknown>;
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
