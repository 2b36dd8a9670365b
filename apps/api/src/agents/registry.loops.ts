import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { LiveRegistry } from '#rollcall/registry';
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

  constructor(
    private readonly registry: LiveRegistry,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.registry.follower.follow();
  }

  /** Nothing new begins; what is under way ends before the database goes. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopping = true;
    this.registry.follower.close();
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
    await this.once('follow', async () => await this.registry.follower.follow());
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
