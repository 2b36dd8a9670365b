import { Module } from '@nestjs/common';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { BudgetMetrics } from './budget.metrics.js';
import { VIEW_RULES, type ViewRules } from './budget.view.js';
import { BudgetsController } from './budgets.controller.js';
import { ReservationsController } from './reservations.controller.js';

/** A count is shown as stale after this many missed refreshes. */
const STALE_AFTER_REFRESHES = 3;

@Module({
  controllers: [ReservationsController, BudgetsController],
  providers: [BudgetMetrics, { provide: VIEW_RULES, inject: [CONFIG], useFactory: viewRules }],
  exports: [VIEW_RULES],
})
export class BudgetsModule {}

function viewRules({ budgets, langfuse }: Config): ViewRules {
  return { low: budgets.low, staleAfterMs: langfuse.refreshEvery * STALE_AFTER_REFRESHES };
}
