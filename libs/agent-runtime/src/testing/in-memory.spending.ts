import { SpendingLimitError } from '../spending/spending.errors.js';
import { tokensOf, usageIn } from '../spending/charges.js';
import type {
  Awaitable,
  Charge,
  Hold,
  HoldRequest,
  NewBudget,
  RunUsage,
  Spending,
  SpendingAmount,
  SpendingLimit,
} from '../spending/spending.js';

interface Account {
  readonly kind: 'run' | 'agent' | 'caller';
  readonly subject: string;
  readonly parent?: Account;
  readonly limit: SpendingLimit;
  readonly used: Record<Unit, number>;
  readonly own: Record<Unit, number>;
  readonly held: Record<Unit, number>;
  /** The open holds of the run itself. */
  readonly holds: MemoryHold[];
}

type Unit = keyof SpendingAmount;
const UNITS: readonly Unit[] = ['tokens', 'microUsd'];

/** Pays from budgets in memory, with the rules of the ledger. For tests and benchmarks of one process. */
export class InMemorySpending implements Spending {
  private readonly runs = new Accounts('run');
  private readonly others = { agent: new Accounts('agent'), caller: new Accounts('caller') };
  private holdCount = 0;

  /** Gives an agent or a caller a budget. */
  limit(kind: 'agent' | 'caller', namespace: string, subject: string, limit: SpendingLimit): void {
    this.others[kind].open(namespace, subject, limit);
  }

  /** The sum of all amounts that are held on the budget of a run. */
  heldBy(namespace: string, runId: string): SpendingAmount {
    return { ...this.runs.get(namespace, runId).held };
  }

  async openRun(run: NewBudget): Promise<RunUsage> {
    const { namespace, runId, parentRunId, limit } = run;
    const parent = parentRunId === null ? undefined : this.runs.get(namespace, parentRunId);
    if (!this.runs.has(namespace, runId)) this.runs.open(namespace, runId, limit, parent);
    return await this.usageOf(namespace, runId);
  }

  hold(request: HoldRequest): Awaitable<Hold> {
    const { namespace, runId, agentId, callerId, key } = request;
    const run = this.runs.get(namespace, runId);
    const known = run.holds.find((hold) => hold.requested === key);
    if (known) return known;
    const charged = chainOf(run);
    const { agent, caller } = this.others;
    if (agentId !== null && agent.has(namespace, agentId)) charged.push(agent.get(namespace, agentId));
    if (callerId !== null && caller.has(namespace, callerId)) charged.push(caller.get(namespace, callerId));
    const amount = fitting(request, charged);
    return new MemoryHold(key, (this.holdCount += 1), charged, amount);
  }

  usageOf(namespace: string, runId: string): Awaitable<RunUsage> {
    const { own, used, held, limit } = this.runs.get(namespace, runId);
    return { own: { ...own }, subtree: { ...used }, held: { ...held }, limit };
  }

  closeRun(): void {
    // nothing to do: every charge is made at once
  }

  async recover({ namespace, runId }: { namespace: string; runId: string }, charges: readonly Charge[]): Promise<void> {
    const open = this.runs.get(namespace, runId).holds.slice(); // a hold that ends is removed from the list
    for (const hold of open) {
      const charge = charges.find(({ key }) => key === hold.key);
      if (charge) hold.settle(usageIn(charge));
      else hold.release();
    }
  }
}

/** The accounts of all subjects of one kind. */
class Accounts {
  private readonly namespaces = new Map<string, Map<string, Account>>();

  constructor(private readonly kind: Account['kind']) {}

  has(namespace: string, subject: string): boolean {
    return this.namespaces.get(namespace)?.has(subject) ?? false;
  }

  get(namespace: string, subject: string): Account {
    const found = this.namespaces.get(namespace)?.get(subject);
    if (!found) throw new Error(`The ${this.kind} ${subject} has no budget.`);
    return found;
  }

  open(namespace: string, subject: string, limit: SpendingLimit, parent?: Account): void {
    const accounts = this.namespaces.get(namespace) ?? new Map<string, Account>();
    accounts.set(subject, account({ kind: this.kind, subject, limit, parent }));
    this.namespaces.set(namespace, accounts);
  }
}

class MemoryHold implements Hold {
  /** Differs for each hold: the key of a hold that has ended is not used again. */
  readonly key: string;

  /** The first account is that of the run itself. */
  constructor(
    readonly requested: string,
    number: number,
    private readonly accounts: readonly [Account, ...Account[]],
    readonly amount: SpendingAmount,
  ) {
    this.key = `${requested}~${number}`;
    accounts[0].holds.push(this);
    for (const { held } of accounts) for (const unit of UNITS) held[unit] += amount[unit];
  }

  settle(usage: Parameters<Hold['settle']>[0]): void {
    if (!this.end()) return;
    const tokens = tokensOf(usage) ?? this.amount.tokens;
    const used = { tokens, microUsd: usage.costMicroUsd ?? this.amount.microUsd };
    for (const unit of UNITS) {
      for (const one of this.accounts) one.used[unit] += used[unit];
      this.accounts[0].own[unit] += used[unit];
    }
  }

  release(): void {
    this.end();
  }

  /** Returns false if the hold has already ended. */
  private end(): boolean {
    const { holds } = this.accounts[0];
    const at = holds.indexOf(this);
    if (at === -1) return false;
    holds.splice(at, 1);
    for (const { held } of this.accounts) for (const unit of UNITS) held[unit] -= this.amount[unit];
    return true;
  }
}

function account(facts: Pick<Account, 'kind' | 'subject' | 'parent' | 'limit'>): Account {
  const zero = (): Record<Unit, number> => ({ tokens: 0, microUsd: 0 });
  return { ...facts, used: zero(), own: zero(), held: zero(), holds: [] };
}

/** The account of the run, and those of its ancestors. */
function chainOf(run: Account): [Account, ...Account[]] {
  const chain: [Account, ...Account[]] = [run];
  for (let at = run.parent; at; at = at.parent) chain.push(at);
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
