import { Injectable } from '@nestjs/common';
import { BackgroundFaults, DatabaseBusyError, DatabaseUnavailableError, Periodic } from '#rollcall/platform';
import { type BeatResult, HeartbeatBatcher, RegisterAgainError } from '#rollcall/registry';
import { AgentHost } from '../agent.host.js';
import type { SpawnedAgent } from '../spawned.agent.js';
import { AgentRegistrar, hasEnded, leaseCredentialOf } from './agent.registrar.js';
import { type AgentVitals, RuntimeAgentStore } from './runtime-agent.store.js';

interface Sent {
  vitals: AgentVitals;
  beatAt: number;
}

const PASS_EVERY_MS = 1_000;
const PRUNE_EVERY_MS = 60_000;

/**
 * Sends the heartbeats of all agents of this replica in one batch, and publishes their state. An agent whose registration was ended by
 * an operator or by another replica is closed. An evicted agent is registered again.
 */
@Injectable()
export class AgentBeats {
  private readonly sent = new WeakMap<SpawnedAgent, Sent>();

  constructor(
    private readonly host: AgentHost,
    private readonly heartbeats: HeartbeatBatcher,
    private readonly registrar: AgentRegistrar,
    private readonly store: RuntimeAgentStore,
    private readonly faults: BackgroundFaults,
  ) {}

  @Periodic('runtime.beats', PASS_EVERY_MS)
  async pass(): Promise<void> {
    this.host.reap(this.host.options.idleMs);
    const agents = this.host.spawned.filter(({ closing }) => !closing);
    await Promise.all(agents.map(async (agent) => await this.refresh(agent)));
    await this.publish(agents);
    await this.beat(agents);
  }

  /** Deletes the rows of agents that are not live any more, such as agents of dead replicas. */
  @Periodic('runtime.prune', PRUNE_EVERY_MS)
  async prune(): Promise<void> {
    await this.store.prune();
  }

  /** Stores the states that have changed since the last call. */
  async publish(agents: readonly SpawnedAgent[] = this.host.spawned): Promise<void> {
    const changed = agents.filter((agent) => !isSame(this.sent.get(agent)?.vitals, agent.vitals));
    if (changed.length === 0) return;
    const vitals = changed.map((agent) => agent.vitals);
    await this.store.publish(vitals);
    for (const [index, agent] of changed.entries()) {
      const { beatAt = -Infinity } = this.sent.get(agent) ?? {};
      const isLoadSame = this.sent.get(agent)?.vitals.inFlight === vitals[index].inFlight;
      this.sent.set(agent, { vitals: vitals[index], beatAt: isLoadSame ? beatAt : -Infinity });
    }
  }

  private async refresh(agent: SpawnedAgent): Promise<void> {
    if (!agent.isOutdated) return;
    await this.host.refresh(agent).catch((error: unknown) => this.faults.report('runtime.refresh', error));
  }

  private async beat(agents: readonly SpawnedAgent[]): Promise<void> {
    const now = performance.now();
    const due = agents.filter(
      (agent) => now - (this.sent.get(agent)?.beatAt ?? -Infinity) >= this.host.options.beatEveryMs,
    );
    if (due.length === 0) return;
    const beats = due.map((agent) => ({ ...leaseCredentialOf(agent), inFlight: agent.hosted.inFlight }));
    const results = await this.heartbeats.beatAll(beats);
    await Promise.all(results.map(async (result, index) => await this.accept(due[index], result, now)));
  }

  private async accept(agent: SpawnedAgent, result: BeatResult, now: number): Promise<void> {
    const sent = this.sent.get(agent);
    if (result.ok) return void (sent && (sent.beatAt = now));
    const { error } = result;
    if (error instanceof RegisterAgainError && error.reason === 'evicted') await this.rejoin(agent);
    else if (hasEnded(error)) await this.close(agent);
    else this.faults.report('runtime.beats', error);
  }

  /** If another agent or a definition has taken the name in the meantime, this agent is closed. */
  private async rejoin(agent: SpawnedAgent): Promise<void> {
    try {
      const { blueprint } = await agent.hosted.instance();
      await this.registrar.rejoin(agent, blueprint);
    } catch (error) {
      this.faults.report('runtime.beats', error);
      const isTemporary = error instanceof DatabaseUnavailableError || error instanceof DatabaseBusyError;
      if (!isTemporary) await this.close(agent); // otherwise the next pass tries again
    }
  }

  private async close(agent: SpawnedAgent): Promise<void> {
    await this.host.shutdown(agent, this.host.options.shutdownMs);
  }
}

function isSame(one: AgentVitals | undefined, other: AgentVitals): boolean {
  return one !== undefined && JSON.stringify(one) === JSON.stringify(other);
}
