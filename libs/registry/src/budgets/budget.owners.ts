import type { DomainError } from '#rollcall/platform';
import { NotTheOwnerError } from '../agents/agent.errors.js';
import type { BudgetKind } from './budget.js';
import type { LedgerOp } from './ledger.batch.js';

/** The owner of the agent or run that a budget belongs to; null if the agent does not exist any more. */
export interface BudgetOwner {
  kind: BudgetKind;
  subject: string;
  owner: string | null;
}

/**
 * Rejects a reservation of a principal that may spend only for itself, if the reservation names an agent or a run of another owner. The
 * budgets above a run, and those of the caller, the namespace and the fleet, need no check.
 */
export class BudgetOwners {
  private readonly owners: ReadonlyMap<string, string | null>;

  constructor(owners: readonly BudgetOwner[]) {
    this.owners = new Map(owners.map(({ kind, subject, owner }) => [scopeOf(kind, subject), owner]));
  }

  /** Ignores subjects without a budget, because the ledger reports them. */
  errorOf(op: LedgerOp): DomainError | undefined {
    if (op.op !== 'reserve' || op.request.onlyOwnedBy === undefined) return undefined;
    const { onlyOwnedBy, scopes } = op.request;
    const isForeign = (kind: BudgetKind, subject: string): boolean => {
      const owner = this.owners.get(scopeOf(kind, subject));
      return owner !== undefined && owner !== onlyOwnedBy;
    };
    const { agentId, runId } = scopes;
    if (agentId !== null && isForeign('agent', agentId)) return NotTheOwnerError.ofSpending(agentId);
    if (runId !== null && isForeign('run', runId)) return NotTheOwnerError.ofRun(runId);
    return undefined;
  }
}

/** Whether an operation of the batch needs the owners. */
export function needsOwners(ops: readonly LedgerOp[]): boolean {
  return ops.some((op) => op.op === 'reserve' && op.request.onlyOwnedBy !== undefined);
}

const scopeOf = (kind: BudgetKind, subject: string): string => `${kind}\n${subject}`;
