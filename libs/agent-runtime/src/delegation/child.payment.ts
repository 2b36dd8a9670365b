import type { AgentResult, CallBudget, CallContext } from '#rollcall/providers';
import { usageOfFailure, wasNeverSent } from '../spending/failed.call.js';
import type { Hold, Spending, SpendingLimit } from '../spending/spending.js';
import { NO_LIMIT } from '../spending/spending.limit.js';
import type { DelegationTarget } from './delegation.targets.js';

export interface PaymentOptions {
  readonly spending: Spending;
  /** Whether the budget of the run exists. Otherwise, it is opened with the first call. */
  readonly isOpen?: boolean;
  /** The limit of each delegated run, including its descendants. Without it, only the limits of its ancestors apply. */
  readonly childLimit?: SpendingLimit;
  /** How many tokens are held for a call of an agent that has its own loop, if the budget has that many left. */
  readonly externalTokens?: number;
}

const DEFAULT_EXTERNAL_TOKENS = 32_000;
const MICRO_PER_DOLLAR = 1_000_000;
/** The errors of a circuit that does not admit the call, and of an agent that has left in the meantime. */
const NOT_ADMITTED: ReadonlySet<unknown> = new Set(['CIRCUIT_OPEN', 'AGENT_NOT_FOUND']);

/** Pays for one call of an agent that has its own loop, with one hold. */
export class ChildPayment {
  private constructor(
    private readonly hold: Hold,
    private readonly target: DelegationTarget,
  ) {}

  /** Rejects with `SpendingLimitError` if nothing is left. */
  static async open(options: PaymentOptions, context: CallContext, target: DelegationTarget): Promise<ChildPayment> {
    return new ChildPayment(await holdFor(target, context, options), target);
  }

  /** What the agent may use. */
  get budget(): CallBudget | undefined {
    return toBudget(this.hold.amount);
  }

  /** If the agent reports no cost, the cost is calculated from the prices in its record. */
  async settle({ usage }: AgentResult): Promise<void> {
    const { inputTokens, outputTokens, costMicroUsd } = usage;
    const isPriced = costMicroUsd !== undefined || inputTokens === undefined || outputTokens === undefined;
    if (isPriced) return await this.hold.settle(usage);
    await this.hold.settle({ ...usage, costMicroUsd: priceOf(this.target, inputTokens + outputTokens) });
  }

  /** Settles a call that failed, was cancelled or was abandoned. The agent may have worked, so its usage is unknown, not zero. */
  async settleFailure(error: unknown): Promise<void> {
    const { code } = (error ?? {}) as { code?: unknown };
    if (wasNeverSent(error) || NOT_ADMITTED.has(code)) await this.hold.release();
    else await this.hold.settle(usageOfFailure(error));
  }
}

async function holdFor(target: DelegationTarget, context: CallContext, options: PaymentOptions): Promise<Hold> {
  const { spending, isOpen = false, childLimit = NO_LIMIT, externalTokens: tokens = DEFAULT_EXTERNAL_TOKENS } = options;
  const { namespace, runId, parentRunId = null, callerId = null } = context;
  if (!isOpen) await spending.openRun({ namespace, runId, parentRunId, limit: childLimit });
  const agentId = target.registered?.agentId ?? target.name;
  const amount = { tokens, microUsd: priceOf(target, tokens) };
  return await spending.hold({ namespace, runId, agentId, callerId, key: 'call', amount, atLeastTokens: 1 });
}

/** A limit of 0 is not sent to the agent, because 0 means that the price is unknown. */
export function toBudget({ tokens, microUsd }: SpendingLimit = NO_LIMIT): CallBudget | undefined {
  if (!tokens && !microUsd) return undefined;
  return { ...(tokens && { tokens }), ...(microUsd && { microUsd }) };
}

/** What a call of a registered agent costs according to its record. */
function priceOf({ registered }: DelegationTarget, tokens: number): number {
  const { usdPerTask, usdPer1kTokens } = registered?.costModel ?? { usdPerTask: null, usdPer1kTokens: null };
  return Math.ceil(((usdPerTask ?? 0) + ((usdPer1kTokens ?? 0) * tokens) / 1_000) * MICRO_PER_DOLLAR);
}
