import { Module } from '@nestjs/common';
import { BudgetsModule } from '../budgets/budgets.module.js';
import { SummaryController } from './summary.controller.js';
import { UsageController } from './usage.controller.js';

/** Counts and usage over time, for people. */
@Module({ imports: [BudgetsModule], controllers: [SummaryController, UsageController] })
export class SummaryModule {}
