import { Injectable } from '@nestjs/common';
import { Database, EventFeed, EventStatus } from '#rollcall/platform';
import { HttpMetrics } from '../telemetry/http.metrics.js';
import { counter, gauge, once, single } from '../telemetry/measure.js';

/** Metrics for each stage of an event: outbox, log, feed of this replica, consumers. */
@Injectable()
export class EventMetrics {
  constructor(db: Database, status: EventStatus, feed: EventFeed, { registry }: HttpMetrics) {
    const read = once(async () => await status.read());
    const appended = {
      name: 'rollcall_events_total',
      help: 'Events that this replica appended, by type.',
      labels: ['type'],
    } as const;
    counter(registry, appended, () => db.counts.withPrefix('events.').map(([type, count]) => [count, { type }]));
    const staged = {
      name: 'rollcall_outbox_events',
      help: 'Committed events that wait for the sequencer. The same on every replica.',
    };
    gauge(registry, staged, async () => single((await read()).staged));
    const waiting = {
      name: 'rollcall_outbox_oldest_seconds',
      help: 'How long the oldest event in the outbox has waited. The same on every replica.',
    };
    gauge(registry, waiting, async () => single((await read()).oldestMs / 1_000));
    const lag = {
      name: 'rollcall_feed_lag_events',
      help: 'Events of the log that this replica has not read yet.',
    };
    gauge(registry, lag, async () => {
      const { head } = await read();
      return single(Math.max(0, head - (feed.position ?? head)));
    });
    const consumers = {
      name: 'rollcall_feed_consumers',
      help: 'Consumers of the feed of this replica: its directory, event streams, sockets, webhooks and other sinks.',
    };
    gauge(registry, consumers, () => single(feed.consumers.count));
    const behind = {
      name: 'rollcall_feed_consumer_lag_events',
      help: 'How many events the slowest consumer of this replica is behind its feed.',
    };
    gauge(registry, behind, () => single(feed.consumers.behind));
  }
}
