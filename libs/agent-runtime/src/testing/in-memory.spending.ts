import { SpendingLimitError } from '../spending/spending.errors.js';
import { tokensOf, usageIn } from '../spending/charges.js';
import type {
  Charge,
  Hold,
  HoldRequest,
  RunUsage,
  Spending,
  SpendingAmount,
  SpendingLimit,
} from '../spending/spending.js';

interface Account {
  readonly kind: 'run' | 'agent';
  readonly subject: string;
  readonly parent?: Account;
  readonly limit: SpendingLimit;
  readonly used: Record<Unit, number>;
  readonly own: Record<Unit, number>;
  readonly held: Record<Unit, number>;
}

type Unit = keyof SpendingAmount;
const UNITS: readonly Unit[] = ['tokens', 'microUsd'];

/** Pays from budgets in memory, with the rules of the ledger. For tests and benchmarks of one process. */
export class InMemorySpending implements Spending {
  private readonly runs = new Map<string, Account>();
  private readonly agents = new Map<string, Account>();
  private readonly holds = new Map<string, MemoryHold>();
  private holdCount = 0;

  /** Gives an agent a budget. */
  limitAgent(namespace: string, agentId: string, limit: SpendingLimit): void {
    this.agents.set(idOf(namespace, agentId), account({ kind: 'agent', subject: agentId, limit }));
  }

  /** The sum of all amounts that are held on the budget of a run. */
  heldBy(namespace: string, runId: string): SpendingAmount {
    return { ...this.run(namespace, runId).held };
  }

  async openRun(run: Parameters<Spending['openRun']>[0]): Promise<void> {
    const { namespace, runId, parentRunId, limit } = run;
    const parent = parentRunId === null ? undefined : this.run(namespace, parentRunId);
    const id = idOf(namespace, runId);
    if (!this.runs.has(id)) this.runs.set(id, account({ kind: 'run', subject: runId, limit, parent }));
  }

  async hold(request: HoldRequest): Promise<Hold> {
    const { namespace, runId, agentId, key } = request;
    const id = holdIdOf(namespace, runId, key);
    const known = this.holds.get(id);
    if (known) return known;
    const charged = chainOf(this.run(namespace, runId));
    if (agentId !== null) charged.push(this.agent(namespace, agentId));
    const amount = fitting(request, charged);
    const name = `${key}~${(this.holdCount += 1)}`; // the name of an ended hold is not used again
    const hold = new MemoryHold(name, charged, amount, () => this.holds.delete(id));
    this.holds.set(id, hold);
    return hold;
  }

  async usageOf(namespace: string, runId: string): Promise<RunUsage> {
    const { own, used, held, limit } = this.run(namespace, runId);
    return { own: { ...own }, subtree: { ...used }, held: { ...held }, limit };
  }

  async recover({ namespace, runId }: { namespace: string; runId: string }, charges: readonly Charge[]): Promise<void> {
    const prefix = holdIdOf(namespace, runId, '');
    for (const [id, hold] of this.holds) {
      if (!id.startsWith(prefix)) continue;
      const charge = charges.find(({ key }) => key === hold.key);
      await (charge ? hold.settle(usageIn(charge)) : hold.release());
    }
  }

  private run(namespace: string, runId: string): Account {
    const found = this.runs.get(idOf(namespace, runId));
    if (!found) throw new Error(`The run ${runId} has no budget.`);
    return found;
  }

  private agent(namespace: string, agentId: string): Account {
    const found = this.agents.get(idOf(namespace, agentId));
    if (!found) throw new Error(`The agent ${agentId} has no budget.`);
    return found;
  }
}

class MemoryHold implements Hold {
  private isEnded = false;

  /** The first account is that of the run itself. */
  constructor(
    readonly key: string,
    private readonly accounts: readonly Account[],
    readonly amount: SpendingAmount,
    private readonly onEnd: () => void,
  ) {
    for (const { held } of accounts) for (const unit of UNITS) held[unit] += amount[unit];
  }

  async settle(usage: Parameters<Hold['settle']>[0]): Promise<void> {
    if (!this.end()) return;
    const tokens = tokensOf(usage) ?? this.amount.tokens;
    const used = { tokens, microUsd: usage.costMicroUsd ?? this.amount.microUsd };
    for (const unit of UNITS) {
      for (const one of this.accounts) one.used[unit] += used[unit];
      const own = this.accounts[0];
      if (own) own.own[unit] += used[unit];
    }
  }

  async release(): Promise<void> {
    this.end();
  }

  private end(): boolean {
    if (this.isEnded) return false;
    this.isEnded = true;
    this.onEnd();
    for (const { held } of this.accounts) for (const unit of UNITS) held[unit] -= this.amount[unit];
    return true;
  }
}

function account(facts: Pick<Account, 'kind' | 'subject' | 'parent' | 'limit'>): Account {
  const zero = (): Record<Unit, number> => ({ tokens: 0, microUsd: 0 });
  return { ...facts, used: zero(), own: zero(), held: zero() };
}

function chainOf(run: Account): Account[] {
  const chain: Account[] = [];
  for (let at: Account | undefined = run; at; at = at.parent) chain.push(at);
  return chain;
}

/** Returns the amount that all budgets can pay, or throws. */
function fitting({ amount, atLeastTokens }: HoldRequest, accounts: readonly Account[]): SpendingAmount {
  let { tokens } = amount;
  for (const one of accounts) tokens = Math.min(tokens, leftOf(one, 'tokens'));
  const held = atLeastTokens !== undefined && tokens >= atLeastTokens ? { ...amount, tokens } : amount;
  for (const one of accounts) {
    const unit = UNITS.find((each) => held[each] > leftOf(one, each) || leftOf(one, each) === 0);
    if (unit) throw shortage(one, unit, amount[unit]);
  }
  return held;
}

function leftOf({ limit, used, held }: Account, unit: Unit): number {
  const most = limit[unit];
  return most === null ? Infinity : Math.max(0, most - used[unit] - held[unit]);
}

function shortage(one: Account, unit: Unit, asked: number): SpendingLimitError {
  const { kind, subject } = one;
  const message = `The budget of the ${kind} "${subject}" has ${leftOf(one, unit)} ${unit} left; ${asked} are requested.`;
  return new SpendingLimitError(message, { kind, subject, unit });
}

const holdIdOf = (namespace: string, runId: string, key: string): string => `${idOf(namespace, runId)}\n${key}`;
const idOf = (namespace: string, id: string): string => `${namespace}/${id}`;
