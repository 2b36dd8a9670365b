import { Inject, Injectable } from '@nestjs/common';
import { PlatformError } from '../errors.js';
import { EventLog } from '../events/event.log.js';
import { ALL_NAMESPACES, isVisible, type VisibleNamespaces } from '../namespaces/namespace.js';
import { PLATFORM_OPTIONS, type PlatformOptions } from '../platform.options.js';
import { Database } from '../postgres/database.js';
import { inBatches, Periodic } from '../work/periodic.js';
import { type DeliveryRow, DeliveryStore } from './delivery.store.js';
import type { DeliveryState } from './sink.entities.js';
import { SinkStore } from './sink.store.js';

export interface SinkStatus {
  id: string;
  kind: string;
  /** The namespace whose events the sink receives; `*` for all events. */
  namespace: string;
  state: 'delivering' | 'retrying' | 'paused' | 'stopped';
  cursor: number;
  head: number;
  /** The age of the oldest event after the cursor; null if there is no event after the cursor. */
  lagMs: number | null;
  parked: number;
  attempts: number;
  nextTryAt: Date | null;
  lastError: string | null;
  deliveredAt: Date | null;
  /** Whether a replica holds the lease. */
  held: boolean;
}

type StatusRow = Omit<SinkStatus, 'cursor' | 'head' | 'parked'> & { cursor: string; head: string; parked: string };

/** The kind of sinks that send the changes of one task to its client. Operators do not see these sinks: they belong to the task. */
export const PUSH_KIND = 'push';
const PRUNE_BATCH = 1_000;
const PRUNE_EVERY_MS = 10 * 60_000;
/** Records of parked events are kept this many times longer than other records, because an operator has to inspect them. */
const PARKED_FACTOR = 10;

class SinkNotFoundError extends PlatformError {
  readonly code = 'SINK_NOT_FOUND';

  constructor(id: string) {
    super(`There is no sink "${id}". GET /v1/sinks lists the sinks.`);
  }
}

class DeliveryNotFoundError extends PlatformError {
  readonly code = 'DELIVERY_NOT_FOUND';

  constructor(id: string, seq: number) {
    super(
      `There is no record of a delivery of event ${seq} to "${id}". Replay all events after a sequence number instead.`,
    );
  }
}

/** Shows and changes sinks for operators. A change ends the lease, so that the next relay starts with the new settings. */
@Injectable()
export class SinksService {
  constructor(
    private readonly db: Database,
    private readonly log: EventLog,
    private readonly store: SinkStore,
    private readonly deliveries: DeliveryStore,
    @Inject(PLATFORM_OPTIONS) private readonly options: Pick<PlatformOptions, 'sinks'>,
  ) {}

  /** Without `after`, the sink starts with the next event. */
  async add(id: string, kind: string, { after, paused = false }: { after?: number; paused?: boolean }): Promise<void> {
    await this.store.insert(id, kind, after ?? (await this.log.head()), paused);
  }

  async remove(id: string): Promise<void> {
    await this.store.delete(id);
  }

  async pause(id: string, paused: boolean): Promise<void> {
    if (!(await this.store.change(id, { paused }))) throw new SinkNotFoundError(id);
  }

  /** Restarts the relay of a sink, so that it reads the new settings and tries again immediately. */
  async reload(id: string): Promise<void> {
    await this.store.change(id, {});
  }

  /** Sends all events after `seq` again. Throws if some of them were deleted from the log, or have expired in the sink's namespace. */
  async replayAfter(id: string, seq: number): Promise<void> {
    const { namespace } = await this.get(id);
    await this.log.locate(String(seq), namespace === ALL_NAMESPACES ? null : [namespace]);
    if (!(await this.store.change(id, { cursor: seq }))) throw new SinkNotFoundError(id);
  }

  async replayOne(id: string, seq: number): Promise<DeliveryRow> {
    if (!Number.isSafeInteger(seq) || (await this.deliveries.markPending(id, seq)) === 0)
      throw new DeliveryNotFoundError(id, seq);
    await this.store.change(id, {});
    return await this.delivery(id, seq);
  }

  /** Sends all parked events again and returns their number. */
  async replayParked(id: string): Promise<number> {
    const requested = await this.deliveries.markPending(id, null);
    if (!(await this.store.change(id, {}))) throw new SinkNotFoundError(id);
    return requested;
  }

  async delivery(id: string, seq: number): Promise<DeliveryRow> {
    const row = Number.isSafeInteger(seq) ? await this.deliveries.find(id, seq) : undefined;
    if (!row) throw new DeliveryNotFoundError(id, seq);
    return row;
  }

  async listDeliveries(id: string, limit: number, before?: string, state?: DeliveryState): Promise<DeliveryRow[]> {
    return await this.deliveries.page(id, limit, before, state);
  }

  /** Returns the given sinks, or all, ordered by id, without sinks of kind `push`. A sink that is not a webhook receives all events. */
  async list(ids?: readonly string[]): Promise<SinkStatus[]> {
    const rows = await this.db.query<StatusRow>(
      `SELECT s.id, s.kind, coalesce(w.namespace, '${ALL_NAMESPACES}') AS namespace, s.cursor, c.head, s.attempts, s.delivered_at AS "deliveredAt",
         CASE WHEN s.stopped_because IS NOT NULL THEN 'stopped' WHEN s.paused THEN 'paused'
           WHEN s.attempts > 0 THEN 'retrying' ELSE 'delivering' END AS state,
         coalesce(s.stopped_because, s.last_error) AS "lastError",
         CASE WHEN s.attempts > 0 THEN s.due_at END AS "nextTryAt",
         coalesce(s.lease_until > clock_timestamp(), false) AS held,
         (SELECT round(extract(epoch FROM clock_timestamp() - l.at) * 1000)::float8 FROM event_log l
           WHERE l.seq > s.cursor ORDER BY l.seq LIMIT 1) AS "lagMs",
         (SELECT count(*) FROM event_delivery d WHERE d.sink_id = s.id AND d.state <> 'delivered' AND d.state = 'parked') AS parked
       FROM event_sink s CROSS JOIN event_counter c LEFT JOIN webhook w ON w.id = s.id
       WHERE c.id = 1 AND s.kind <> '${PUSH_KIND}' AND ($1::text[] IS NULL OR s.id = ANY ($1)) ORDER BY s.id`,
      [ids ?? null],
    );
    return rows.map((row) => {
      const { cursor, head, parked } = row;
      return Object.assign(row, { cursor: Number(cursor), head: Number(head), parked: Number(parked) });
    });
  }

  async get(id: string, visible: VisibleNamespaces = null): Promise<SinkStatus> {
    const [status] = await this.list([id]);
    if (!status || !isVisible(status.namespace, visible)) throw new SinkNotFoundError(id);
    return status;
  }

  @Periodic('sinks.prune', PRUNE_EVERY_MS)
  async pruneDeliveries(): Promise<number> {
    const { keepDeliveriesMs } = this.options.sinks;
    return await this.deleteOldDeliveries(keepDeliveriesMs, keepDeliveriesMs * PARKED_FACTOR);
  }

  /** Deletes old delivery records and returns how many it deleted. */
  async deleteOldDeliveries(keepMs: number, keepParkedMs: number): Promise<number> {
    return await inBatches(PRUNE_BATCH, async (limit) => await this.deliveries.prune(keepMs, keepParkedMs, limit));
  }
}
