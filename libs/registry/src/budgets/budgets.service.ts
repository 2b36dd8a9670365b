import { Injectable } from '@nestjs/common';
import { Database, isVisible, type VisibleNamespaces } from '#rollcall/platform';
import { NotTheOwnerError } from '../agents/agent.errors.js';
import {
  type Amount,
  type Budget,
  type BudgetKind,
  FLEET,
  insufficientUnit,
  type Limit,
  namespaceOfBudget,
  rolled,
  UNITS,
  ZERO,
} from './budget.js';
import {
  BudgetExhaustedError,
  BudgetExistsError,
  BudgetNotFoundError,
  InvalidBudgetError,
  RunExistsError,
  RunTreeTooDeepError,
} from './budget.errors.js';
import { BudgetEvents } from './budget.events.js';
import { BudgetLedger } from './ledger/budget.ledger.js';
import { BudgetStore, type BudgetFilter, type BudgetReading, type BudgetDraft } from './store/budget.store.js';
import { isTimeZone, nextWindow, type BudgetWindow, type WindowSpan } from './budget.window.js';
import type { BudgetScope } from './store/ledger.store.js';
import { forecast, type Forecast } from './forecast.js';
import type { LedgerEntryEntity } from './store/budget.entities.js';

export interface BudgetRequest {
  kind: BudgetKind;
  subject: string;
  window?: BudgetWindow;
  timeZone?: string;
  limit: Limit;
  low?: Limit;
  /** Only for the budget of a run: the run that delegated to it. */
  parentRunId?: string | null;
  source?: string;
  by: string;
}

/** Who changes a budget, and why. */
interface Attribution {
  by: string;
  note: string | null;
}

const NO_LIMIT: Limit = { tokens: null, microUsd: null };
const DEFAULT_LOOK_BACK_MS = 86_400_000;

/** Creates and reads budgets, and changes their limits for operators. `BudgetLedger` handles spending. */
@Injectable()
export class BudgetsService {
  constructor(
    private readonly db: Database,
    private readonly store: BudgetStore,
    private readonly ledger: BudgetLedger,
    private readonly events: BudgetEvents,
    /** How many levels a tree of runs may have; 0 means no limit. */
    private readonly runDepth: number,
  ) {}

  async open(request: BudgetRequest): Promise<Budget> {
    return await this.db.transaction(async () => {
      const budget = await this.insert(await this.complete(request));
      if (!budget) throw new BudgetExistsError(request.kind, request.subject, request.window ?? 'total');
      return budget;
    });
  }

  /**
   * Creates the budget of a run. Its limit applies to the run and all its descendants. A repeated request returns the existing
   * budget; a request with another parent or limit is rejected.
   */
  async openRun(runId: string, parentRunId: string | null, limit: Limit, by: string): Promise<Budget> {
    return await this.db.transaction(async () => {
      const budget = await this.complete({ kind: 'run', subject: runId, limit, parentRunId, by });
      return (await this.insert(budget)) ?? (await this.existingRun(budget));
    });
  }

  /** Like `openRun`, for a principal that may spend only on its own runs. It must own the parent, and the run if the run exists. */
  async openOwnRun(runId: string, parentRunId: string | null, limit: Limit, by: string): Promise<Budget> {
    return await this.db.transaction(async () => {
      if (parentRunId !== null) await this.requireRunOwner(parentRunId, by);
      await this.requireRunOwner(runId, by);
      const budget = await this.openRun(runId, parentRunId, limit, by);
      await this.requireRunOwner(runId, by); // another principal may have opened the run in the meantime
      return budget;
    });
  }

  /** Throws the same error for a budget of a namespace that is not visible as for a missing budget. */
  async get(id: number, visible: VisibleNamespaces = null): Promise<BudgetReading> {
    const found = await this.store.find(id);
    if (!found || !isVisible(namespaceOfBudget(found.budget), visible)) throw new BudgetNotFoundError(id);
    return current(found);
  }

  async of(kind: BudgetKind, subject: string): Promise<BudgetReading[]> {
    return (await this.store.findOf(kind, subject)).map(current);
  }

  async ofAll(scopes: readonly BudgetScope[]): Promise<BudgetReading[]> {
    return (await this.store.findAll(scopes)).map(current);
  }

  /** Returns the error that a reservation of this amount would get now, or undefined if all budgets have enough left. Reserves nothing. */
  async shortage(scopes: readonly BudgetScope[], amount: Amount): Promise<BudgetExhaustedError | undefined> {
    for (const { budget, now } of await this.ofAll(scopes)) {
      const unit = insufficientUnit(budget, amount);
      if (unit) return new BudgetExhaustedError(budget, unit, amount, now);
    }
    return undefined;
  }

  async list(limit: number, after: number, filter: BudgetFilter): Promise<BudgetReading[]> {
    return (await this.store.page(limit, after, filter)).map(current);
  }

  async lines(id: number, limit: number, before: string | undefined): Promise<LedgerEntryEntity[]> {
    await this.get(id);
    return await this.store.lines(id, limit, before);
  }

  /** Raises the limit. */
  async topUp(id: number, raise: Partial<Amount>, { by, note }: Attribution): Promise<Budget> {
    return await this.ledger.correct({ budgetId: id, as: 'topped_up', raise, declared: false, by, note });
  }

  /** Sets limits or usage to exact values. */
  async adjust(
    id: number,
    to: { limit?: Partial<Limit>; used?: Partial<Amount> },
    { by, note }: Attribution,
  ): Promise<Budget> {
    const isLimit = to.limit && Object.keys(to.limit).length > 0;
    return await this.ledger.correct({
      budgetId: id,
      as: 'adjusted',
      ...to,
      ...(isLimit && { declared: false }),
      by,
      note,
    });
  }

  async forecast(id: number, overMs: number = DEFAULT_LOOK_BACK_MS): Promise<Forecast> {
    const { budget, now } = await this.get(id);
    return forecast(budget, await this.store.burn(id, overMs), now);
  }

  private async requireRunOwner(runId: string, owner: string): Promise<void> {
    const actual = await this.store.findRunOwner(runId);
    if (actual !== undefined && actual !== owner) throw NotTheOwnerError.ofRun(runId);
  }

  private async complete(request: BudgetRequest): Promise<BudgetDraft> {
    const { kind, subject, window = 'total', timeZone = 'UTC', limit, parentRunId = null, by } = request;
    const { low = NO_LIMIT, source = 'ledger' } = request;
    if (kind === 'run' && window !== 'total')
      throw new InvalidBudgetError('The budget of a run must have the window "total".');
    if (kind !== 'run' && parentRunId !== null)
      throw new InvalidBudgetError('Only the budget of a run may have a parentRunId.');
    if (kind === 'fleet' && subject !== FLEET)
      throw new InvalidBudgetError(`A budget of the kind fleet must have the subject "${FLEET}".`);
    if (!isTimeZone(timeZone))
      throw new InvalidBudgetError(`"${timeZone}" is not a known time zone. Use a name such as UTC or Europe/Berlin.`);
    const parent = parentRunId === null ? undefined : await this.store.findParent(parentRunId);
    if (parentRunId !== null && !parent) throw new BudgetNotFoundError('run', parentRunId);
    const path = parent ? [...parent.path, parent.id] : [];
    if (this.runDepth > 0 && path.length >= this.runDepth) throw new RunTreeTooDeepError(subject, this.runDepth);
    return { kind, subject, window, timeZone, path, limit, low, used: ZERO, source, declared: false, by };
  }

  /** Inserts the budget, and prevents the deletion of its namespace before the transaction ends. */
  private async insert(budget: BudgetDraft): Promise<Budget | undefined> {
    await this.ledger.lockNamespace(namespaceOfBudget(budget));
    const inserted = await this.store.insert(budget, await this.firstWindow(budget));
    if (inserted) this.events.notify([inserted]);
    return inserted;
  }

  /** A window without an end begins when the budget is inserted. */
  private async firstWindow({ window, timeZone }: BudgetDraft): Promise<Partial<WindowSpan>> {
    return window === 'total' ? {} : nextWindow(window, await this.store.now(), timeZone);
  }

  /** Compares the request with the limit at the creation of the budget, so that a top-up between two attempts does not count as a difference. */
  private async existingRun({ subject, path, limit }: BudgetDraft): Promise<Budget> {
    const [found] = await this.store.findOf('run', subject);
    if (!found) throw new BudgetNotFoundError('run', subject);
    const { budget } = found;
    const opened = (await this.store.openedLimit(budget.id)) ?? budget.limit;
    const isSame = budget.path.at(-1) === path.at(-1) && UNITS.every((unit) => opened[unit] === limit[unit]);
    if (!isSame) throw new RunExistsError(subject);
    return budget;
  }
}

/** Returns the reading in the current window, even if no write has begun that window yet. */
function current(reading: BudgetReading): BudgetReading {
  return { ...reading, budget: rolled(reading.budget, reading.now) };
}
