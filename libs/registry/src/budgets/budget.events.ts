import type { Database, EventDraft, EventOutbox, EventPayloads } from '#rollcall/platform';
import { remaining, UNITS, type Budget, type LowBudgetPolicy, type Unit } from './budget.js';
import type { LedgerBatch, Turn } from './ledger.batch.js';

const TYPES = {
  ample: 'budget.replenished',
  low: 'budget.low',
  exhausted: 'budget.exhausted',
} as const;

/**
 * Tells what became of budgets: the feed, in the transaction that makes it so, of those that became low, exhausted or ample;
 * and this replica, after the commit, of every one that changed.
 */
export class BudgetEvents {
  private readonly listeners: ((budgets: readonly Budget[]) => void)[] = [];

  constructor(
    private readonly db: Database,
    private readonly outbox: EventOutbox,
    private readonly policy: LowBudgetPolicy,
  ) {}

  /** Called after a commit of this replica's, with the budgets as they are now. */
  onChange(listener: (budgets: readonly Budget[]) => void): void {
    this.listeners.push(listener);
  }

  async tell(batch: LedgerBatch, changed: readonly Budget[]): Promise<void> {
    const turns = batch.turns(this.policy);
    if (turns.length > 0) await this.outbox.appendAll(await this.drafts(turns));
    this.announce(changed);
  }

  announce(changed: readonly Budget[]): void {
    if (changed.length > 0) this.db.afterCommit(() => this.listeners.forEach((listener) => listener(changed)));
  }

  private async drafts(turns: readonly Turn[]): Promise<EventDraft[]> {
    const capabilities = await this.capabilitiesOf(turns);
    return turns.map(({ budget, from, to }): EventDraft => {
      const type = from === 'exhausted' ? TYPES.ample : TYPES[to];
      const ofAgent = budget.kind === 'agent' ? capabilities.get(budget.subject) : undefined;
      return { type, subject: String(budget.id), data: factsOf(budget), capabilities: ofAgent ?? [] };
    });
  }

  /** So that consumers who choose events by capability hear of the agents they care for. */
  private async capabilitiesOf(turns: readonly Turn[]): Promise<Map<string, string[]>> {
    const agentIds = turns.filter(({ budget }) => budget.kind === 'agent').map(({ budget }) => budget.subject);
    if (agentIds.length === 0) return new Map();
    const rows = await this.db.query<{ agentId: string; capabilities: string[] }>(
      'SELECT agent_id AS "agentId", capabilities FROM agent WHERE agent_id = ANY ($1)',
      [agentIds],
    );
    return new Map(rows.map((row) => [row.agentId, row.capabilities]));
  }
}

function factsOf(budget: Budget): EventPayloads['budget.low'] {
  const { kind, subject, window, limit } = budget;
  const left = remaining(budget);
  const unit = scarcest(budget);
  const facts = { kind, of: subject, window, unit, limit: limit[unit] ?? 0, remaining: left[unit] ?? 0 };
  return kind === 'agent' ? { ...facts, agentId: subject } : facts;
}

/** The unit of which the smaller share is left. */
function scarcest(budget: Budget): Unit {
  const left = remaining(budget);
  const share = (unit: Unit): number => {
    const [most, rest] = [budget.limit[unit], left[unit]];
    return most === null || rest === null ? Infinity : rest / Math.max(1, most);
  };
  return UNITS.reduce((least, unit) => (share(unit) < share(least) ? unit : least));
}
