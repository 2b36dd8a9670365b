import { Inject, Injectable } from '@nestjs/common';
import { inBatches, Periodic } from '#rollcall/platform';
import { AgentsService } from './agents/agents.service.js';
import { BudgetSweeper } from './budgets/budget.sweeper.js';
import { ContractStore } from './contracts/store/contract.store.js';
import { REGISTRY_OPTIONS, type RegistryOptions } from './registry.options.js';

const EVERY_MS = 10 * 60_000;
const MAX_BATCH = 500;

/** Deletes the history of agents, budgets and contracts after its retention. */
@Injectable()
export class HistoryPruner {
  constructor(
    private readonly agents: AgentsService,
    private readonly budgets: BudgetSweeper,
    private readonly contracts: ContractStore,
    @Inject(REGISTRY_OPTIONS) private readonly options: Pick<RegistryOptions, 'retention'>,
  ) {}

  @Periodic('registry.prune', EVERY_MS)
  async pruneAgents(): Promise<void> {
    await this.agents.prune(this.options.retention.leftAgentsMs);
  }

  @Periodic('budgets.prune', EVERY_MS)
  async pruneBudgets(): Promise<void> {
    await this.budgets.prune(this.options.retention);
  }

  @Periodic('contracts.prune', EVERY_MS)
  async pruneContracts(): Promise<void> {
    const { contractsMs } = this.options.retention;
    await inBatches(MAX_BATCH, async (limit) => await this.contracts.prune(contractsMs, limit));
  }
}
