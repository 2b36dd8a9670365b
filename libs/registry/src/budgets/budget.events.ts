import { type Database, type EventDraft, type EventOutbox, type EventPayloads, localIdOf } from '#rollcall/platform';
import { type Budget, type LowBudgetPolicy, namespaceOfBudget, remaining, type Unit, UNITS } from './budget.js';
import type { ConditionChange, LedgerBatch } from './ledger/ledger.batch.js';

const TYPES = {
  ample: 'budget.replenished',
  low: 'budget.low',
  exhausted: 'budget.exhausted',
} as const;

/**
 * Appends an event when a budget becomes low, exhausted or ample, in the transaction of the change. After the commit it notifies
 * the listeners in this process about every budget that changed.
 */
export class BudgetEvents {
  private readonly listeners: ((budgets: readonly Budget[]) => void)[] = [];

  constructor(
    private readonly db: Database,
    private readonly outbox: EventOutbox,
    private readonly policy: LowBudgetPolicy,
  ) {}

  /** The listener is called after each commit of this replica, with the new state of the changed budgets. */
  onChange(listener: (budgets: readonly Budget[]) => void): void {
    this.listeners.push(listener);
  }

  async append(batch: LedgerBatch, changed: readonly Budget[]): Promise<void> {
    const changes = batch.conditionChanges(this.policy);
    if (changes.length > 0) await this.outbox.appendAll(await this.drafts(changes));
    this.notify(changed);
  }

  notify(changed: readonly Budget[]): void {
    if (changed.length > 0) this.db.afterCommit(() => this.listeners.forEach((listener) => listener(changed)));
  }

  private async drafts(changes: readonly ConditionChange[]): Promise<EventDraft[]> {
    const capabilities = await this.capabilitiesOf(changes);
    return changes.map(({ budget, from, to }): EventDraft => {
      const type = from === 'exhausted' ? TYPES.ample : TYPES[to];
      const ofAgent = budget.kind === 'agent' ? capabilities.get(budget.subject) : undefined;
      const [subject, namespace] = [String(budget.id), namespaceOfBudget(budget)];
      return { type, subject, namespace, data: factsOf(budget), capabilities: ofAgent ?? [] };
    });
  }

  /** Budget events of an agent contain its capabilities, so that consumers can filter by them. */
  private async capabilitiesOf(changes: readonly ConditionChange[]): Promise<Map<string, string[]>> {
    const agentIds = changes.filter(({ budget }) => budget.kind === 'agent').map(({ budget }) => budget.subject);
    if (agentIds.length === 0) return new Map();
    const rows = await this.db.query<{ agentId: string; capabilities: string[] }>(
      'SELECT agent_id AS "agentId", capabilities FROM agent WHERE agent_id = ANY ($1)',
      [agentIds],
    );
    return new Map(rows.map((row) => [row.agentId, row.capabilities]));
  }
}

function factsOf(budget: Budget): EventPayloads['budget.low'] {
  const { kind, window, limit } = budget;
  const of = localIdOf(budget.subject);
  const left = remaining(budget);
  const unit = scarcest(budget);
  const facts = { kind, of, window, unit, limit: limit[unit] ?? 0, remaining: left[unit] ?? 0 };
  return kind === 'agent' ? { ...facts, agentId: of } : facts;
}

/** Returns the unit of which the smaller share is left. */
function scarcest(budget: Budget): Unit {
  const left = remaining(budget);
  const share = (unit: Unit): number => {
    const [most, rest] = [budget.limit[unit], left[unit]];
    return most === null || rest === null ? Infinity : rest / Math.max(1, most);
  };
  return UNITS.reduce((least, unit) => (share(unit) < share(least) ? unit : least));
}
