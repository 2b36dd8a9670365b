import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import {
  agentOf,
  EventFeed,
  type FeedSubscription,
  LiveRegistry,
  type RegistryEvent,
  RegistryEvents,
} from '#rollcall/registry';

import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';

const SWEEP_EVERY_MS = 1_000;
const HEAR_EVERY_MS = 1_000;
const FOLLOW_EVERY_MS = 1_000;
const FORGET_EVERY_MS = 10 * 60_000;

/** What the live registry does by itself: fill and follow the directory, hear other replicas' beats, sweep. */
@Injectable()
export class RegistryLoops implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly log = new Logger('registry');
  private readonly underWay = new Map<string, Promise<void>>();
  private stopping = false;
  /** The feed has let go of us, and we have not got hold of it again. */
  private lost = false;
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

  /** Nothing new begins; what is under way ends before the database goes. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopping = true;
    this.subscription?.close();
    await Promise.all([...this.underWay.values(), this.registry.idle()]);
  }

  @Interval('registry.sweep', SWEEP_EVERY_MS)
  async sweep(): Promise<void> {
    await this.once('sweep', async () => {
      let { more } = await this.registry.sweeper.sweepIfDue();
      while (more && !this.stopping) ({ more } = await this.registry.sweeper.sweep());
    });
  }

  @Interval('registry.hear_beats', HEAR_EVERY_MS)
  async hearBeats(): Promise<void> {
    await this.once('hear_beats', async () => await this.registry.sync.hearBeats());
  }

  @Interval('registry.forget', FORGET_EVERY_MS)
  async forget(): Promise<void> {
    await this.once('forget', async () => await this.registry.agents.forget(this.config.registry.keepLeft));
  }

  @Interval('registry.follow', FOLLOW_EVERY_MS)
  async followAgain(): Promise<void> {
    if (this.lost) await this.once('follow', async () => await this.follow());
  }

  /** From before the fleet is read: what changes meanwhile is told again, and told twice it does no harm. */
  private async follow(): Promise<void> {
    this.subscription?.close();
    const head = await this.events.log.head();
    await this.registry.sync.load();
    this.lost = false;
    this.subscription = this.feed.subscribe(head, {
      take: (events) => this.take(events),
      expired: () => this.loseFeed(),
    });
  }

  private take(events: readonly RegistryEvent[]): void {
    this.registry.sync.refreshSoon(agentsIn(events));
    if (events.some(({ type }) => type === 'registry.clock_stepped_back')) this.loseFeed();
  }

  /** The directory is loaded again as a whole, and follows the log from there. */
  private loseFeed(): void {
    this.lost = true;
    void this.followAgain();
  }

  /** A pass that takes longer than its interval is not started twice, and one that fails is tried again. */
  private async once(name: string, pass: () => Promise<unknown>): Promise<void> {
    if (this.stopping || this.underWay.has(name)) return;
    const run = this.attempt(name, pass);
    this.underWay.set(name, run);
    await run;
    this.underWay.delete(name);
  }

  private async attempt(name: string, pass: () => Promise<unknown>): Promise<void> {
    try {
      await pass();
    } catch (error) {
      this.log.warn({ event: `registry.${name}_failed`, err: error });
    }
  }
}

function agentsIn(events: readonly RegistryEvent[]): string[] {
  const about = events.filter(({ type }) => /^(agent|circuit|budget)\./.test(type));
  return [...new Set(about.map(agentOf).filter((agentId) => agentId !== undefined))];
}
