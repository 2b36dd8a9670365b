import { Logger } from '@nestjs/common';
import {
  aborted,
  type Agent,
  type AgentEvent,
  type AgentMessage,
  type AgentResult,
  type HandleOptions,
} from '#rollcall/providers';
import { WrappedAgent } from '../calls/wrapped.agent.js';
import { ChildPayment, type PaymentOptions } from './child.payment.js';
import type { DelegationTarget } from './delegation.targets.js';
import { GracePeriod } from './grace.period.js';

/** Shorter than the grace time of a delegation, so that an abandoned call is charged before the delegation ends. */
const GRACE_MS = 400;

/**
 * The agent of a target, with calls that are paid. An agent of this process pays each model call itself. Any other agent is paid with
 * one hold for each call. The hold is settled with the usage that the agent reports, or as unknown, before the result is delivered. So
 * a result that was recorded is paid, and a repeated call is a new payment.
 */
export function paidAgent(target: DelegationTarget, options: PaymentOptions | undefined): Agent {
  return !options || target.agent.agentType === 'in-process' ? target.agent : new PaidAgent(target, options);
}

class PaidAgent extends WrappedAgent {
  private readonly log = new Logger('runs');

  constructor(
    private readonly target: DelegationTarget,
    private readonly options: PaymentOptions,
  ) {
    super(target.agent);
  }

  async *handle(message: AgentMessage, options: HandleOptions = {}): AsyncGenerator<AgentEvent> {
    const { context } = options;
    if (!context) return yield* this.agent.handle(message, options);
    const payment = await ChildPayment.open(this.options, context, this.target);
    const { budget } = payment;
    let result: AgentResult | undefined;
    let failure: unknown;
    try {
      for await (const event of this.events(message, { ...options, ...(budget && { budget }) })) {
        if (event.type === 'finished') {
          result = event.result;
          await payment.settle(result);
        }
        yield event;
      }
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      if (!result) await this.settleFailure(payment, failure);
    }
  }

  /** Ends within the grace time after an abort, even if the agent ignores the signal. */
  private async *events(message: AgentMessage, options: HandleOptions): AsyncGenerator<AgentEvent> {
    const grace = new GracePeriod(options.signal ?? new AbortController().signal, GRACE_MS);
    const events = this.agent.handle(message, options)[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await grace.wait(events.next());
        if (!next) throw aborted(`The call to agent ${this.name}`);
        if (next.done) return;
        yield next.value;
      }
    } finally {
      await grace.wait(Promise.resolve(events.return?.()).catch(() => undefined));
      grace.end();
    }
  }

  private async settleFailure(payment: ChildPayment, failure: unknown): Promise<void> {
    await payment.settleFailure(failure).catch((error: unknown) => {
      this.log.warn({ event: 'run.charge_failed', agentName: this.name, err: error });
    });
  }
}
