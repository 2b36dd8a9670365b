import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Loop } from '#rollcall/platform';
import { ProviderError } from '#rollcall/providers';
import { type BudgetSource, LiveRegistry } from '#rollcall/registry';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { USAGE_SOURCES } from './budgets.tokens.js';

const SWEEP_EVERY_MS = 1_000;
const HEAR_EVERY_MS = 1_000;
const FORGET_EVERY_MS = 10 * 60_000;

/** What budgets need by themselves: sweeping, hearing of other replicas' charges, and asking usage sources. */
@Injectable()
export class BudgetLoops implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly log = new Logger('budgets');
  private readonly busy = new Set<string>();
  private readonly refreshing: Loop[];

  constructor(
    private readonly registry: LiveRegistry,
    @Inject(USAGE_SOURCES) sources: readonly BudgetSource[],
    @Inject(CONFIG) private readonly config: Config,
  ) {
    this.refreshing = sources.map((source) => this.refreshLoop(source));
  }

  onApplicationBootstrap(): void {
    for (const loop of this.refreshing) loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.refreshing.map(async (loop) => await loop.stop()));
    await this.registry.budgets.ledger.idle();
  }

  @Interval('budgets.sweep', SWEEP_EVERY_MS)
  async sweep(): Promise<void> {
    await this.once('sweep', async () => await this.registry.budgets.sweeper.sweep());
  }

  @Interval('budgets.hear', HEAR_EVERY_MS)
  async hear(): Promise<void> {
    await this.once('hear', async () => await this.registry.sync.hearBudgets());
  }

  @Interval('budgets.forget', FORGET_EVERY_MS)
  async forget(): Promise<void> {
    const { keepReservations: reservationsMs, keepLedger: linesMs, keepRuns: runsMs } = this.config.budgets;
    const retention = { reservationsMs, linesMs, runsMs };
    await this.once('forget', async () => await this.registry.budgets.sweeper.forget(retention));
  }

  /** A source that wants to be left alone for longer than the interval is. */
  private refreshLoop(source: BudgetSource): Loop {
    let restMs = this.config.langfuse.refreshEvery;
    return new Loop({
      pass: async () => (restMs = await this.refresh(source)),
      everyMs: () => restMs,
      onError: (error) => this.log.warn({ event: 'budgets.refresh_failed', source: source.name, err: error }),
    });
  }

  private async refresh(source: BudgetSource): Promise<number> {
    const { refreshed, failures } = await this.registry.budgets.refresher.refresh(source);
    let restMs = this.config.langfuse.refreshEvery;
    for (const { error, budgets } of failures) {
      this.log.warn({ event: 'budgets.source_failed', source: source.name, budgets, err: error });
      if (error instanceof ProviderError) restMs = Math.max(restMs, error.retryAfterMs ?? 0);
    }
    if (refreshed > 0) this.log.debug({ event: 'budgets.refreshed', source: source.name, budgets: refreshed });
    return restMs;
  }

  /** A pass that takes longer than its interval is not started twice, and one that fails is tried again. */
  private async once(name: string, pass: () => Promise<unknown>): Promise<void> {
    if (this.busy.has(name)) return;
    this.busy.add(name);
    try {
      await pass();
    } catch (error) {
      this.log.warn({ event: `budgets.${name}_failed`, err: error });
    } finally {
      this.busy.delete(name);
    }
  }
}
