import { Injectable } from '@nestjs/common';
import { Periodic } from '#rollcall/platform';
import { AgentHost } from '../agent.host.js';
import { LifecycleLog } from '../lifecycle.log.js';
import { AgentRegistrar } from './agent.registrar.js';
import { RuntimeAgentStore } from './runtime-agent.store.js';

interface Observed {
  /** The newest heartbeat of all agents of the replica. */
  readonly beat: string;
  /** When this replica read it for the first time. */
  readonly since: number;
}

const PASS_EVERY_MS = 2_000;
/** After a longer pause of this process, its observations start again. */
const MAX_PAUSE_MS = 15_000;
/** A replica whose own agents have missed this many heartbeats cannot judge others. */
const MISSED_BEATS = 3;

/**
 * Evicts the agents of replicas that were killed. Self-preservation does not know which agents share a replica, so it may keep them.
 * A replica is lost if no heartbeat of its agents has arrived for longer than a lease, while this replica could read and write all the
 * time. If Postgres was not available, the time starts again for all replicas. A replica that was only cut off registers its agents again.
 */
@Injectable()
export class LostHosts {
  private readonly observed = new Map<string, Observed>();
  private passedAt = 0;

  constructor(
    private readonly host: AgentHost,
    private readonly store: RuntimeAgentStore,
    private readonly registrar: AgentRegistrar,
  ) {}

  @Periodic('runtime.lost-hosts', PASS_EVERY_MS)
  async pass(): Promise<void> {
    await this.sweep(performance.now());
  }

  /** `now` is a monotonic time. */
  async sweep(now: number): Promise<void> {
    try {
      this.observe(await this.store.hostBeats(), now);
      for (const replicaId of this.lost(now)) await this.evictAll(replicaId);
    } catch (error) {
      this.observed.clear();
      throw error;
    }
  }

  private observe(beats: ReadonlyMap<string, string>, now: number): void {
    if (now - this.passedAt > MAX_PAUSE_MS) this.observed.clear();
    this.passedAt = now;
    for (const replicaId of this.observed.keys()) if (!beats.has(replicaId)) this.observed.delete(replicaId);
    for (const [replicaId, beat] of beats)
      if (this.observed.get(replicaId)?.beat !== beat) this.observed.set(replicaId, { beat, since: now });
  }

  private lost(now: number): string[] {
    const { replicaId: own, options } = this.host;
    const silentMs = (replicaId: string): number => now - (this.observed.get(replicaId)?.since ?? now);
    if (silentMs(own) > options.beatEveryMs * MISSED_BEATS) this.observed.clear();
    return [...this.observed.keys()].filter((id) => id !== own && silentMs(id) > options.hostLostMs);
  }

  private async evictAll(replicaId: string): Promise<void> {
    const agents = await this.store.hostedBy(replicaId);
    for (const agent of agents) await this.registrar.lose(agent);
    LifecycleLog.hostLost(replicaId, agents.length);
  }
}
