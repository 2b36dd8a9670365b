import {
  aborted,
  type Agent,
  type AgentEvent,
  type AgentMessage,
  type AgentUsage,
  type CallBudget,
  type CallContext,
  type HandleOptions,
  isDetached,
} from '#rollcall/providers';
import { PriceUnknownError } from '#rollcall/registry';
import type { DelegationTarget } from '../delegation/targets/delegation.targets.js';
import { usageOfFailure, wasNeverSent } from '../spending/failed.call.js';
import { type RunReservation, RunReservations } from '../spending/run.reservations.js';
import { AgentPriceUnknownError } from '../spending/spending.errors.js';
import { NO_LIMIT, type RunWriter, type Spending, type SpendingLimit, unrecorded } from '../spending/spending.js';
import { GracePeriod } from './grace.period.js';
import { WrappedAgent } from './wrapped.agent.js';

export interface PaymentOptions {
  readonly spending: Spending;
  /** The limit of each delegated run, including its descendants. Without it, only the limits of its ancestors apply. */
  readonly childLimit?: SpendingLimit;
  /** How many tokens are reserved for a call of an agent that has its own loop, if the budget has that many left. */
  readonly externalTokens?: number;
}

/** A call of an agent that has its own loop. The budget of the run exists. */
interface PaidCall {
  readonly target: DelegationTarget;
  readonly message: AgentMessage;
  readonly options: HandleOptions & { readonly context: CallContext };
  readonly payment: PaymentOptions;
  /** Its commit happens before the agent is called. */
  readonly writer: RunWriter;
}

const DEFAULT_EXTERNAL_TOKENS = 32_000;
const MICRO_PER_DOLLAR = 1_000_000;
/** Shorter than the grace time of a delegation, so that an abandoned call is charged before the delegation ends. */
const GRACE_MS = 400;
/** The errors of a circuit that does not admit the call, and of an agent that has left in the meantime. */
const NOT_ADMITTED: ReadonlySet<unknown> = new Set(['CIRCUIT_OPEN', 'AGENT_NOT_FOUND']);

/** Whether one reservation pays a call of the agent. An agent of this process pays each of its model calls itself. */
export function isPaidByCall({ agentType }: Agent): boolean {
  return agentType !== 'in-process';
}

/** The agent of a target, with calls that are paid and not recorded. */
export function paidAgent(target: DelegationTarget, payment: PaymentOptions | undefined): Agent {
  return payment && isPaidByCall(target.agent) ? new PaidAgent(target, payment) : target.agent;
}

/**
 * Reserves what the call may use, calls the agent, and charges the usage that it reports, or the reserved amount if that is unknown. The
 * reservation ends before the result is delivered.
 */
export async function* paidCall({ target, message, options, payment, writer }: PaidCall): AsyncGenerator<AgentEvent> {
  const { namespace, runId, callerId = null } = options.context;
  const agentId = target.registered?.agentId ?? target.name;
  const reservations = new RunReservations(payment.spending, { namespace, runId, agentId, callerId }, writer);
  const reservation = await reserve(reservations, target, payment);
  const budget = callBudgetOf(reservation.amount);
  try {
    if (options.signal?.aborted) {
      reservation.lent = undefined; // the agent is not called
      throw aborted(`The call to agent ${target.agent.name}`);
    }
    for await (const event of eventsOf(target.agent, message, { ...options, ...(budget && { budget }) })) {
      if (event.type === 'finished') {
        charge(reservation, event.result.usage, { target, failed: false });
        await reservations.close();
      }
      yield event;
    }
  } catch (error) {
    const { code } = (error ?? {}) as { code?: unknown };
    if (wasNeverSent(error) || NOT_ADMITTED.has(code)) reservation.lent = undefined;
    if (reservation.lent && !isDetached(options.signal))
      charge(reservation, usageOfFailure(error), { target, failed: true });
    throw error;
  } finally {
    // the replica that continues the call finds the reservation, and knows whether the call is lost
    await (isDetached(options.signal) && reservation.lent ? reservations.leave() : reservations.close());
  }
}

/** A limit of 0 is not sent to the agent, because 0 means that the price is unknown. */
export function callBudgetOf({ tokens, microUsd }: SpendingLimit = NO_LIMIT): CallBudget | undefined {
  if (!tokens && !microUsd) return undefined;
  return { ...(tokens && { tokens }), ...(microUsd && { microUsd }) };
}

async function reserve(
  reservations: RunReservations,
  target: DelegationTarget,
  { externalTokens = DEFAULT_EXTERNAL_TOKENS }: PaymentOptions,
): Promise<RunReservation> {
  const tokens = target.registered?.typicalTokens ?? externalTokens;
  const { promise, resolve } = Promise.withResolvers<RunReservation>();
  const amount = { tokens, microUsd: priceOf(target, tokens) ?? 0 };
  const isUnpriced = priceOf(target, tokens) === undefined;
  try {
    await reservations.change([], [reservations.wanted('call', { amount, atLeastTokens: 1, isUnpriced }, resolve)]);
  } catch (error) {
    throw error instanceof PriceUnknownError ? new AgentPriceUnknownError(target.name, error) : error;
  }
  const reservation = await promise;
  reservation.lent = reservation.amount;
  return reservation;
}

/**
 * If the agent reports no cost, the cost is calculated from the prices in its record. A count that is unknown is charged as reserved, but an
 * agent with a price for a task, and none for tokens, needs no count: it is charged its price and no tokens. What a failed call
 * costs is not known.
 */
function charge(
  reservation: RunReservation,
  { inputTokens, outputTokens, costMicroUsd }: AgentUsage,
  { target, failed }: { target: DelegationTarget; failed: boolean },
): void {
  const { amount } = reservation;
  const counted = inputTokens === undefined || outputTokens === undefined ? undefined : inputTokens + outputTokens;
  const tokens = counted ?? (!failed && isPricedByTask(target) ? 0 : undefined);
  const microUsd = costMicroUsd ?? (tokens === undefined ? undefined : (priceOf(target, tokens) ?? 0));
  const isEstimated = tokens === undefined || (microUsd === undefined && amount.microUsd > 0);
  reservation.use({ tokens: tokens ?? amount.tokens, microUsd: microUsd ?? amount.microUsd }, isEstimated);
}

function isPricedByTask({ registered, priceMicroUsd }: DelegationTarget): boolean {
  const { usdPerTask = null, usdPer1kTokens = null } = registered?.costModel ?? {};
  return priceMicroUsd !== undefined || (usdPerTask !== null && usdPer1kTokens === null);
}

/** What a call costs, as agreed or according to the record of the agent; undefined if it declares no price. */
function priceOf({ registered, priceMicroUsd }: DelegationTarget, tokens: number): number | undefined {
  if (priceMicroUsd !== undefined) return priceMicroUsd;
  const { usdPerTask = null, usdPer1kTokens = null } = registered?.costModel ?? {};
  if (usdPerTask === null && usdPer1kTokens === null) return undefined;
  return Math.ceil(((usdPerTask ?? 0) + ((usdPer1kTokens ?? 0) * tokens) / 1_000) * MICRO_PER_DOLLAR);
}

/** Ends within the grace time after an abort, even if the agent ignores the signal. */
async function* eventsOf(agent: Agent, message: AgentMessage, options: HandleOptions): AsyncGenerator<AgentEvent> {
  const grace = new GracePeriod(options.signal ?? new AbortController().signal, GRACE_MS);
  const events = agent.handle(message, options)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await grace.wait(events.next());
      if (!next) throw aborted(`The call to agent ${agent.name}`);
      if (next.done) return;
      yield next.value;
    }
  } finally {
    await grace.wait(Promise.resolve(events.return?.()).catch(() => undefined));
    grace.end();
  }
}

class PaidAgent extends WrappedAgent {
  constructor(
    private readonly target: DelegationTarget,
    private readonly payment: PaymentOptions,
  ) {
    super(target.agent);
  }

  async *handle(message: AgentMessage, options: HandleOptions = {}): AsyncGenerator<AgentEvent> {
    const { context } = options;
    if (!context) return yield* this.agent.handle(message, options);
    const { target, payment } = this;
    const { spending, childLimit: limit = NO_LIMIT } = payment;
    const { namespace, runId, parentRunId = null } = context;
    await spending.openRun({ namespace, runId, parentRunId, limit });
    yield* paidCall({ target, message, options: { ...options, context }, payment, writer: unrecorded(spending) });
  }
}
