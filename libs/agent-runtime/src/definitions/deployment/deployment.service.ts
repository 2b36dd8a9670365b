import { Injectable } from '@nestjs/common';
import { Database, NamespaceAdmission } from '#rollcall/platform';
import { PluginNames } from '../plugin.names.js';
import { AgentNameStore } from '../agent-name.store.js';
import { type DefinitionChange, DefinitionChanges } from '../definition.changes.js';
import {
  type DeployedDefinition,
  type DeploymentPlan,
  type ManagedSource,
  planOf,
  type RegisteredDefinition,
} from './deployment.plan.js';
import { DeploymentStore } from './deployment.store.js';

/** The principal of changes that a start makes. */
const DEPLOYMENT = 'deployment';

export interface DeploymentResult extends DeploymentPlan {
  /** Definitions whose namespace does not exist. */
  readonly withoutNamespace: readonly DeployedDefinition[];
}

/**
 * Writes many definitions at once, for the deployment or for an import. If nothing differs, nothing is written or locked. All changes
 * are made in one transaction. Such transactions wait for one another, so replicas that start together write each revision once.
 */
@Injectable()
export class DeploymentService {
  constructor(
    private readonly db: Database,
    private readonly store: DeploymentStore,
    private readonly changes: DefinitionChanges,
    private readonly namespaces: NamespaceAdmission,
    private readonly names: AgentNameStore,
    private readonly plugins: PluginNames,
  ) {}

  /** What `apply` would do now. */
  async plan(wanted: readonly DeployedDefinition[], managed: readonly ManagedSource[]): Promise<DeploymentPlan> {
    const sources = managed.map(({ source }) => source).filter((source) => source !== 'rest'); // definitions of REST are never removed
    const all = await this.store.registered(wanted, sources);
    const isWanted = (one: RegisteredDefinition): boolean =>
      wanted.some(({ namespace, name }) => namespace === one.namespace && name === one.name);
    // a replica without a plugin does not remove the definitions that a replica with it has registered
    const registered = all.filter((one) => this.plugins.has(one.plugins ?? []) || isWanted(one));
    return planOf(wanted, { registered, spawned: await this.names.spawned(wanted) }, managed);
  }

  async apply(
    wanted: readonly DeployedDefinition[],
    managed: readonly ManagedSource[],
    by: string = DEPLOYMENT,
  ): Promise<DeploymentResult> {
    const plan = await this.plan(wanted, managed);
    if (plan.added.length + plan.replaced.length + plan.removed.length === 0) return { ...plan, withoutNamespace: [] };
    return await this.db.transaction(async () => {
      await this.names.lockAll();
      const existing = await this.namespaces.hold([...new Set(wanted.map(({ namespace }) => namespace))]);
      const possible = wanted.filter(({ namespace }) => existing.has(namespace));
      const latest = await this.plan(possible, managed);
      await this.write(latest, by);
      return { ...latest, withoutNamespace: wanted.filter(({ namespace }) => !existing.has(namespace)) };
    });
  }

  private async write({ added, replaced, removed }: DeploymentPlan, by: string): Promise<void> {
    const written = [...added, ...replaced];
    const revisions = await this.store.write(written, by);
    if (removed.length > 0) await this.store.remove(removed);
    const changes = written.map(({ namespace, name, content, source }, index): DefinitionChange => {
      const type = index < added.length ? 'definition.registered' : 'definition.replaced';
      return { type, namespace, name, revision: revisions[index] ?? 1, content, source, by };
    });
    await this.changes.append(...changes, ...removed.map((one) => toRemoval(one, by)));
  }
}

function toRemoval(
  { capabilities, model, provider, plugins: _plugins, ...one }: RegisteredDefinition,
  by: string,
): DefinitionChange {
  const content = { capabilities: capabilities ?? [], model, provider };
  return { ...one, type: 'definition.unregistered', content, by };
}
