import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import {
  BackgroundFaults,
  EventFeed,
  EventLog,
  type FeedSubscription,
  type RegistryEvent,
  StopsIn,
} from '#rollcall/platform';
import { AgentHost } from './agent.host.js';

/** Renews the agents of this replica when another replica changes their definition. It follows the event log. */
@Injectable()
export class DefinitionFollower implements OnApplicationBootstrap {
  private subscription?: FeedSubscription;
  private isStopped = false;

  constructor(
    private readonly feed: EventFeed,
    private readonly log: EventLog,
    private readonly host: AgentHost,
    private readonly faults: BackgroundFaults,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.start();
  }

  async start(): Promise<void> {
    const { seq } = await this.log.end();
    if (this.isStopped) return;
    this.subscription = this.feed.subscribe(seq, {
      accept: (events) => events.forEach((event) => this.apply(event)),
      expired: () => void this.restart().catch((error: unknown) => this.faults.report('runtime.definitions', error)),
    });
  }

  @StopsIn('background')
  stop(): void {
    this.isStopped = true;
    this.subscription?.close();
  }

  /** Events were missed, so all agents are compared with the current definitions. */
  private async restart(): Promise<void> {
    await this.start();
    await this.host.renewOutdated();
  }

  private apply({ type, namespace, subject: name, data }: RegistryEvent): void {
    if (type === 'definition.replaced') this.host.renew({ namespace, name }, (revision) => revision < data.revision);
    if (type === 'definition.unregistered')
      this.host.renew({ namespace, name }, (revision) => revision <= data.revision);
  }
}
