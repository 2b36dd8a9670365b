import { Injectable } from '@nestjs/common';
import { qualifiedId, StopsIn } from '#rollcall/platform';
import type { DefinitionKey } from '../../definitions/definition.js';
import { AgentHost } from '../agent.host.js';
import { AgentSpawner } from '../agent.spawner.js';
import { AgentNotHostedError } from '../lifecycle.errors.js';
import { LifecycleLog } from '../lifecycle.log.js';
import { AgentRegistrar } from '../registration/agent.registrar.js';
import { type RuntimeAgentRow, RuntimeAgentStore } from '../registration/runtime-agent.store.js';
import type { SpawnedAgent } from '../spawned.agent.js';
import type { ShutdownResults } from './runtime-command.store.js';
import { RuntimeCommands } from './runtime.commands.js';
import { type AgentShutdown, type ShutdownReport, shutdownReportOf, toAgentShutdown } from './shutdown.report.js';

/** The share of the time limit in which other replicas must answer. In the rest, the agents of replicas that did not answer are removed. */
const ANSWER_SHARE = 0.9;

/**
 * Shuts down agents on all replicas. An agent of this replica is closed here. For an agent of another replica, that replica gets a
 * command. If it does not answer in time, the agent is removed from the registry. The other replica then closes the agent when its next
 * heartbeat is rejected.
 */
@Injectable()
export class AgentShutdowns {
  constructor(
    private readonly host: AgentHost,
    private readonly spawner: AgentSpawner,
    private readonly store: RuntimeAgentStore,
    private readonly registrar: AgentRegistrar,
    private readonly commands: RuntimeCommands,
  ) {
    commands.onCommand(async ({ namespace, name }, limitMs) =>
      name === undefined
        ? await this.closeAllHere(namespace, limitMs)
        : await this.closeOneHere({ namespace, name }, limitMs),
    );
  }

  async one(key: DefinitionKey, limitMs: number): Promise<AgentShutdown> {
    const agent = this.host.find(key);
    if (agent) return toAgentShutdown(await this.host.shutdown(agent, limitMs));
    const row = await this.store.find(qualifiedId(key.namespace, key.name));
    const ended = row && (await this.closeRemotely(row.replicaId, [row], key, limitMs));
    if (!ended || !Object.hasOwn(ended, key.name)) throw new AgentNotHostedError(key.name); // a name may be `constructor`
    return ended[key.name];
  }

  /** A spawn during the shutdown is rejected on replicas where the shutdown runs, and included in the next round on others (S1.6). */
  async all(namespace: string, limitMs: number): Promise<ShutdownReport> {
    const deadline = performance.now() + limitMs;
    const ended = new Map<string, AgentShutdown>();
    const seen = new Set<string>();
    await this.spawner.gate.whileClosed(namespace, async () => {
      do {
        const live = await this.store.all(namespace);
        const unseen = live.filter(({ agentId, generation }) => !seen.has(`${agentId}@${generation}`));
        if (unseen.length === 0) return;
        for (const { agentId, generation } of unseen) seen.add(`${agentId}@${generation}`);
        const results = await this.round(namespace, unseen, deadline - performance.now());
        for (const [name, detail] of results) ended.set(name, detail);
      } while (performance.now() < deadline);
    });
    const report = shutdownReportOf(ended);
    LifecycleLog.allClosed(report);
    return report;
  }

  @StopsIn('background')
  stopSpawning(): void {
    this.spawner.gate.stop();
  }

  /** Closes all agents, because the process stops. It runs after the HTTP server has closed and the runs were handed over. */
  @StopsIn('writes')
  async stop(): Promise<void> {
    const { stopMs } = this.host.options;
    await this.spawner.gate.empty();
    const { spawned } = this.host;
    const [ended] = await Promise.all([this.close(spawned, stopMs), this.host.closeOthers(stopMs)]);
    if (spawned.length > 0) LifecycleLog.allClosed(shutdownReportOf(Object.entries(ended)));
  }

  private async round(
    namespace: string,
    live: readonly RuntimeAgentRow[],
    limitMs: number,
  ): Promise<[string, AgentShutdown][]> {
    const replicas = Map.groupBy(live, ({ replicaId }) => replicaId);
    const results = await Promise.all(
      Array.from(replicas, async ([replicaId, rows]) =>
        replicaId === this.host.replicaId
          ? await this.close(this.membersOf(namespace), limitMs)
          : await this.closeRemotely(replicaId, rows, { namespace }, limitMs),
      ),
    );
    return results.flatMap((result) => Object.entries(result));
  }

  private async closeOneHere(key: DefinitionKey, limitMs: number): Promise<ShutdownResults> {
    const agent = this.host.find(key);
    return agent ? await this.close([agent], limitMs) : {};
  }

  private async closeAllHere(namespace: string, limitMs: number): Promise<ShutdownResults> {
    const close = async (): Promise<ShutdownResults> => await this.close(this.membersOf(namespace), limitMs);
    return await this.spawner.gate.whileClosed(namespace, close);
  }

  private membersOf(namespace: string): SpawnedAgent[] {
    return this.host.spawned.filter(({ facts }) => facts.namespace === namespace);
  }

  private async close(agents: readonly SpawnedAgent[], limitMs: number): Promise<ShutdownResults> {
    const closing = agents.map(async (agent): Promise<[string, AgentShutdown]> => {
      const detail = await this.host.shutdown(agent, limitMs);
      return [agent.facts.name, toAgentShutdown(detail)];
    });
    return Object.fromEntries(await Promise.all(closing));
  }

  private async closeRemotely(
    replicaId: string,
    rows: readonly RuntimeAgentRow[],
    command: Partial<DefinitionKey> & { namespace: string },
    limitMs: number,
  ): Promise<ShutdownResults> {
    const started = performance.now();
    const result = await this.commands.send(replicaId, command, limitMs * ANSWER_SHARE);
    if (result) return result;
    for (const row of rows) await this.registrar.evict(row);
    const detail: AgentShutdown = {
      phase: 'kill',
      durationMs: Math.round(performance.now() - started),
      forced: true,
      error: 'The replica that hosts the agent did not answer. The agent was removed from the registry.',
    };
    return Object.fromEntries(rows.map(({ name }) => [name, detail]));
  }
}
