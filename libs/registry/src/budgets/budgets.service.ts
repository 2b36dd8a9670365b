import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import { NOTHING, type Amount, type Budget, type BudgetKind, FLEET, type Limit, rolled } from './budget.js';
import { BudgetExistsError, BudgetNotFoundError, InvalidBudgetError, RunTreeTooDeepError } from './budget.errors.js';
import { BudgetEvents } from './budget.events.js';
import { BudgetLedger } from './budget.ledger.js';
import { BudgetStore, type BudgetFilter, type BudgetReading, type NewBudget } from './budget.store.js';
import { isTimeZone, nextWindow, type BudgetWindow } from './budget.window.js';
import { forecast, type Forecast } from './forecast.js';
import type { LedgerEntryEntity } from './ledger-entry.entity.js';

export interface BudgetRequest {
  kind: BudgetKind;
  subject: string;
  window?: BudgetWindow;
  timeZone?: string;
  limit: Limit;
  low?: Limit;
  /** Of a run's budget: the run it was delegated by. */
  parentRunId?: string | null;
  source?: string;
  by: string;
}

export interface Act {
  by: string;
  note: string | null;
}

const NO_LIMIT: Limit = { tokens: null, microUsd: null };
const DEFAULT_LOOK_BACK_MS = 86_400_000;

/** Makes budgets, shows them, and lets operators change what they allow. Spending is the ledger's. */
@Injectable()
export class BudgetsService {
  constructor(
    private readonly db: Database,
    private readonly store: BudgetStore,
    private readonly ledger: BudgetLedger,
    private readonly events: BudgetEvents,
    /** Levels of a tree of runs; 0 is no limit. */
    private readonly runDepth: number,
  ) {}

  async open(wish: BudgetRequest): Promise<Budget> {
    return await this.db.transaction(async () => {
      const budget = await this.make(await this.complete(wish));
      if (!budget) throw new BudgetExistsError(wish.kind, wish.subject, wish.window ?? 'total');
      return budget;
    });
  }

  /** The node of a run in its tree: made when it is not there yet. Its limit binds it and everything below it. */
  async openRun(runId: string, parentRunId: string | null, limit: Limit, by: string): Promise<Budget> {
    return await this.db.transaction(async () => {
      const wish = await this.complete({ kind: 'run', subject: runId, limit, parentRunId, by });
      return (await this.make(wish)) ?? (await this.onlyOf('run', runId)).budget;
    });
  }

  async get(id: number): Promise<BudgetReading> {
    const found = await this.store.find(id);
    if (!found) throw new BudgetNotFoundError(String(id));
    return current(found);
  }

  async of(kind: BudgetKind, subject: string): Promise<BudgetReading[]> {
    return (await this.store.findOf(kind, subject)).map(current);
  }

  async list(limit: number, after: number, filter: BudgetFilter): Promise<BudgetReading[]> {
    return (await this.store.page(limit, after, filter)).map(current);
  }

  async lines(id: number, limit: number, before: string | undefined): Promise<LedgerEntryEntity[]> {
    await this.get(id);
    return await this.store.lines(id, limit, before);
  }

  /** Raises the limit. */
  async topUp(id: number, raise: Partial<Amount>, { by, note }: Act): Promise<Budget> {
    return await this.ledger.correct({ budgetId: id, as: 'topped_up', raise, declared: false, by, note });
  }

  /** Sets limits or counters to exactly this. */
  async adjust(id: number, to: { limit?: Partial<Limit>; used?: Partial<Amount> }, { by, note }: Act): Promise<Budget> {
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

  private async complete(wish: BudgetRequest): Promise<NewBudget> {
    const { kind, subject, window = 'total', timeZone = 'UTC', limit, parentRunId = null, by } = wish;
    const { low = NO_LIMIT, source = 'ledger' } = wish;
    if (kind === 'run' && window !== 'total') throw new InvalidBudgetError('The budget of a run has no windows.');
    if (kind !== 'run' && parentRunId !== null) throw new InvalidBudgetError('Only runs have a run above them.');
    if (kind === 'fleet' && subject !== FLEET)
      throw new InvalidBudgetError(`There is one fleet: its subject is "${FLEET}".`);
    if (!isTimeZone(timeZone)) throw new InvalidBudgetError(`"${timeZone}" is no time zone. Use a name such as UTC.`);
    const parent = parentRunId === null ? undefined : await this.store.findParent(parentRunId);
    if (parentRunId !== null && !parent) throw new BudgetNotFoundError(`of the run "${parentRunId}"`);
    const path = parent ? [...parent.path, parent.id] : [];
    if (this.runDepth > 0 && path.length >= this.runDepth) throw new RunTreeTooDeepError(subject, this.runDepth);
    return { kind, subject, window, timeZone, path, limit, low, used: NOTHING, source, declared: false, by };
  }

  private async make(budget: NewBudget): Promise<Budget | undefined> {
    const made = await this.store.insert(budget, nextWindow(budget.window, await this.store.now(), budget.timeZone));
    if (made) this.events.announce([made]);
    return made;
  }

  private async onlyOf(kind: BudgetKind, subject: string): Promise<BudgetReading> {
    const [found] = await this.store.findOf(kind, subject);
    if (!found) throw new BudgetNotFoundError(`of the ${kind} "${subject}"`);
    return found;
  }
}

/** What is read is of now, also when nobody has begun the new window yet. */
function current(reading: BudgetReading): BudgetReading {
  return { ...reading, budget: rolled(reading.budget, reading.now) };
}
