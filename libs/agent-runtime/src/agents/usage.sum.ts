import { addUsage, type AgentUsage, costOf, type ModelUsage, type Prices } from '#rollcall/providers';
import type { LoopStep } from '../loop/loop.step.js';

/** The usage of all model replies of a run. A count that is unknown for one reply is unknown for the run. */
export class UsageSum {
  private usage?: ModelUsage;
  private costMicroUsd: number | undefined = 0;

  constructor(private readonly prices?: Prices) {}

  add(step: LoopStep): void {
    if (step.type === 'model-replied') this.addUsage(step.reply.usage);
    else if (step.type === 'context-summarised') this.addUsage(step.usage);
  }

  get total(): AgentUsage {
    const cost = this.usage && this.costMicroUsd;
    return { ...this.usage, ...(this.prices && cost !== undefined && { costMicroUsd: cost }) };
  }

  private addUsage(usage: ModelUsage): void {
    this.usage = this.usage ? addUsage(this.usage, usage) : usage;
    const cost = this.prices && costOf(usage, this.prices);
    this.costMicroUsd = this.costMicroUsd === undefined || cost === undefined ? undefined : this.costMicroUsd + cost;
  }
}
