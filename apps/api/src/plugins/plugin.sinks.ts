import { Injectable, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import {
  ALL_NAMESPACES,
  EventCatalog,
  EventLog,
  type EventSink,
  isExpired,
  type RegistryEvent,
  SinkFactories,
  SinksService,
  toCloudEvent,
} from '#rollcall/platform';
import type { PluginSink } from './plugin.js';
import type { PluginGuard } from './plugin.guard.js';
import { PluginError } from './plugin.reader.js';
import { Plugins } from './plugins.js';

const DEFAULT_BATCH = 100;
const FIRST_DELAY_MS = 1_000;
const MAX_DELAY_MS = 5 * 60_000;

/**
 * Delivers the events of the log to the sinks of plugins. A replica without the plugin does not know the kind of its sinks, so it never
 * takes their lease. A new sink begins with the oldest event of the log.
 */
@Injectable()
export class PluginSinks implements OnModuleInit, OnApplicationBootstrap {
  constructor(
    private readonly plugins: Plugins,
    private readonly factories: SinkFactories,
    private readonly sinks: SinksService,
    private readonly log: EventLog,
    private readonly catalog: EventCatalog,
  ) {}

  onModuleInit(): void {
    for (const { id, plugin, sink, guard } of this.all()) {
      const unknown = sink.types?.find((type) => this.catalog.select(type).length === 0);
      if (unknown !== undefined)
        throw new PluginError(
          plugin,
          `eventSinks.${sink.name}.types: there is no event ${unknown}. See docs/events.md for their types.`,
        );
      this.factories.register(id, async () => await Promise.resolve(this.toEventSink(sink, guard)));
    }
  }

  async onApplicationBootstrap(): Promise<void> {
    for (const { id } of this.all()) await this.sinks.add(id, id, { after: await this.log.oldest() });
  }

  private all(): { id: string; plugin: string; sink: PluginSink; guard: PluginGuard }[] {
    return this.plugins.all.flatMap(({ name, parts: { eventSinks }, guard }) =>
      eventSinks.map((sink) => ({ id: `${name}.${sink.name}`, plugin: name, sink, guard })),
    );
  }

  private toEventSink(sink: PluginSink, guard: PluginGuard): EventSink {
    const { types, batch = DEFAULT_BATCH } = sink;
    return {
      matches: this.catalog.matcherOf({ ...(types && { types }) }),
      namespace: ALL_NAMESPACES,
      batch,
      retries: { maxAttempts: null, firstDelayMs: FIRST_DELAY_MS, maxDelayMs: MAX_DELAY_MS },
      keepsDeliveries: false,
      deliver: async (events: readonly RegistryEvent[], signal: AbortSignal) => {
        const shown = events.filter((event) => !isExpired(event)).map(toCloudEvent);
        await guard.within('event sink', guard.limits.callMs, async () => await sink.deliver(shown, signal));
        return {};
      },
      close: async () => await sink.close?.(),
    };
  }
}
