import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { BackgroundFaults, Loop, StopsIn } from '#rollcall/platform';
import { REGISTRY_OPTIONS, type RegistryOptions, type UsageOptions } from '../registry.options.js';
import { type BudgetSource, UsageRefresher } from './usage.refresher.js';

const NO_SOURCES: UsageOptions = { sources: [], refreshEveryMs: 60_000 };

/** Refreshes budgets from each usage source periodically. If a source requests a longer pause, the next refresh waits for it. */
@Injectable()
export class UsageLoops implements OnApplicationBootstrap {
  private readonly log = new Logger('budgets');
  private readonly loops: Loop[];
  private readonly everyMs: number;

  constructor(
    private readonly refresher: UsageRefresher,
    private readonly faults: BackgroundFaults,
    @Inject(REGISTRY_OPTIONS) { usage = NO_SOURCES }: Pick<RegistryOptions, 'usage'>,
  ) {
    this.everyMs = usage.refreshEveryMs;
    this.loops = usage.sources.map((source) => this.loopOf(source));
  }

  onApplicationBootstrap(): void {
    for (const loop of this.loops) loop.start();
  }

  @StopsIn('background')
  async stop(): Promise<void> {
    await Promise.all(this.loops.map(async (loop) => await loop.stop()));
  }

  private loopOf(source: BudgetSource): Loop {
    let pauseMs = this.everyMs;
    return new Loop({
      pass: async () => (pauseMs = await this.refresh(source)),
      everyMs: () => pauseMs,
      onError: (error) => this.faults.report('budgets.refresh', error),
    });
  }

  /** Returns the pause until the next refresh. */
  private async refresh(source: BudgetSource): Promise<number> {
    const { refreshed, failures } = await this.refresher.refresh(source);
    let pauseMs = this.everyMs;
    for (const { error, budgets } of failures) {
      this.log.warn({ event: 'budgets.source_failed', source: source.name, budgets, err: error });
      pauseMs = Math.max(pauseMs, retryAfterMs(error));
    }
    if (refreshed > 0) this.log.debug({ event: 'budgets.refreshed', source: source.name, budgets: refreshed });
    return pauseMs;
  }
}

function retryAfterMs(error: Error): number {
  return 'retryAfterMs' in error && typeof error.retryAfterMs === 'number' ? error.retryAfterMs : 0;
}
