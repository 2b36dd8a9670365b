import { Module } from '@nestjs/common';
import { EgressPolicy, LangfuseUsage, Secret } from '#rollcall/providers';
import { type BudgetSource, LiveRegistry } from '#rollcall/registry';
import { AgentsModule } from '../agents/agents.module.js';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { ModelsModule } from '../models/models.module.js';
import { AgentBudgetController } from './agent-budget.controller.js';
import { BudgetLoops } from './budget.loops.js';
import type { ViewRules } from './budget.view.js';
import { BudgetsController } from './budgets.controller.js';
import { USAGE_SOURCES, VIEW_RULES } from './budgets.tokens.js';
import { ReservationsController } from './reservations.controller.js';

/** So many missed refreshes make a count stale. */
const STALE_AFTER_REFRESHES = 3;

@Module({
  imports: [AgentsModule, ModelsModule],
  controllers: [ReservationsController, BudgetsController, AgentBudgetController],
  providers: [
    BudgetLoops,
    { provide: USAGE_SOURCES, inject: [CONFIG], useFactory: usageSources },
    {
      provide: VIEW_RULES,
      inject: [CONFIG, LiveRegistry],
      useFactory: ({ langfuse }: Config, { budgets }: LiveRegistry): ViewRules => ({
        low: budgets.low,
        staleAfterMs: langfuse.refreshEvery * STALE_AFTER_REFRESHES,
      }),
    },
  ],
})
export class BudgetsModule {}

function usageSources({ langfuse, egress, database }: Config): BudgetSource[] {
  const { baseUrl, publicKey, secretKey, agentField } = langfuse;
  if (publicKey === undefined || secretKey === undefined) return [];
  const policy = new EgressPolicy({ allow: egress.allow, allowLoopback: !database.url });
  return [new LangfuseUsage({ baseUrl, publicKey, secretKey: new Secret(secretKey), agentField, policy })];
}
