import { Injectable } from '@nestjs/common';
import { Database, NamespaceAdmission } from '#rollcall/platform';
import { type ChangeType, type DefinitionChange, DefinitionChanges } from '../definitions/definition.changes.js';
import type { DeployedDefinition, RegisteredDefinition } from './deployed.definition.js';
import { type DeploymentPlan, type ManagedSource, planOf } from './deployment.plan.js';
import { DeploymentStore } from './deployment.store.js';

/** The principal of changes that a start makes. */
const DEPLOYMENT = 'deployment';

export interface DeploymentResult extends DeploymentPlan {
  /** Definitions whose namespace does not exist. */
  readonly homeless: readonly DeployedDefinition[];
}

/**
 * Makes the registered definitions equal to those of the deployment. If nothing differs, nothing is written or locked. All changes
 * are one transaction, and deployments wait for one another, so that replicas that start together write each revision once.
 */
@Injectable()
export class DeploymentService {
  constructor(
    private readonly db: Database,
    private readonly store: DeploymentStore,
    private readonly changes: DefinitionChanges,
    private readonly namespaces: NamespaceAdmission,
  ) {}

  async apply(wanted: readonly DeployedDefinition[], managed: readonly ManagedSource[]): Promise<DeploymentResult> {
    const plan = planOf(wanted, await this.store.registered(), managed);
    if (plan.added.length + plan.replaced.length + plan.removed.length === 0) return { ...plan, homeless: [] };
    return await this.db.transaction(async () => {
      await this.store.lock();
      const existing = await this.namespaces.hold([...new Set(wanted.map(({ namespace }) => namespace))]);
      const possible = wanted.filter(({ namespace }) => existing.has(namespace));
      const latest = planOf(possible, await this.store.registered(), managed);
      await this.write(latest);
      return { ...latest, homeless: wanted.filter(({ namespace }) => !existing.has(namespace)) };
    });
  }

  private async write({ added, replaced, removed }: DeploymentPlan): Promise<void> {
    const written = [...added, ...replaced];
    const revisions = await this.store.write(written, DEPLOYMENT);
    if (removed.length > 0) await this.store.remove(removed);
    await this.changes.append(
      ...written.map((one, index) => {
        const type: ChangeType = index < added.length ? 'definition.registered' : 'definition.replaced';
        return { ...one, type, revision: revisions[index] ?? 1, by: DEPLOYMENT };
      }),
      ...removed.map(toRemoval),
    );
  }
}

function toRemoval({ capabilities, ...one }: RegisteredDefinition): DefinitionChange {
  return { ...one, type: 'definition.unregistered', content: { capabilities: capabilities ?? [] }, by: DEPLOYMENT };
}
