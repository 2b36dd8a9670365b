import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { EventFeed, type FeedSubscription, LiveRegistry, type RegistryEvent, RegistryEvents } from '#rollcall/registry';

import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';

const SWEEP_EVERY_MS = 1_000;
const HEAR_EVERY_MS = 1_000;
const FORGET_EVERY_MS = 10 * 60_000;

/** What the live registry does by itself: fill and follow the directory, hear other replicas' beats, sweep. */
@Injectable()
export class RegistryLoops implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly log = new Logger('registry');
  private readonly busy = new Set<string>();
  private subscription?: FeedSubscription;

  constructor(
    private readonly registry: LiveRegistry,
    private readonly events: RegistryEvents,
    private readonly feed: EventFeed,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.follow();
  }

  async onApplicationShutdown(): Promise<void> {
    this.subscription?.close();
    await this.registry.idle();
  }

  @Interval('registry.sweep', SWEEP_EVERY_MS)
  async sweep(): Promise<void> {
    await this.once('sweep', async () => await this.registry.sweeper.sweep());
  }

  @Interval('registry.hear_beats', HEAR_EVERY_MS)
  async hearBeats(): Promise<void> {
    await this.once('hear_beats', async () => await this.registry.sync.hearBeats());
  }

  @Interval('registry.forget', FORGET_EVERY_MS)
  async forget(): Promise<void> {
    await this.once('forget', async () => await this.registry.agents.forget(this.config.registry.keepLeft));
  }

  /** From before the fleet is read: what changes meanwhile is told again, and told twice it does no harm. */
  private async follow(): Promise<void> {
    this.subscription?.close();
    const head = await this.events.log.head();
    await this.registry.sync.load();
    this.subscription = this.feed.subscribe(head, {
      take: (events) => this.registry.sync.refreshSoon(agentsIn(events)),
      expired: () => void this.once('follow', async () => await this.follow()),
    });
  }

  /** A pass that takes longer than its interval is not started twice, and one that fails is tried again. */
  private async once(name: string, pass: () => Promise<unknown>): Promise<void> {
    if (this.busy.has(name)) return;
    this.busy.add(name);
    try {
      await pass();
    } catch (error) {
      this.log.warn({ event: `registry.${name}_failed`, err: error });
    } finally {
      this.busy.delete(name);
    }
  }
}

function agentsIn(events: readonly RegistryEvent[]): string[] {
  const about = events.filter(({ type }) => type.startsWith('agent.') || type.startsWith('circuit.'));
  return [...new Set(about.map(({ subject }) => subject))];
}
