import type { RunContext } from '../loop/run.context.js';
import type {
  DelegatingParent,
  DelegationTarget,
  DelegationTargets,
  ListedTarget,
  WantedAgent,
} from './delegation.targets.js';

/** The agents with these names. All others do not exist for the run: they are neither listed nor found by name or capability. */
export class RestrictedTargets implements DelegationTargets {
  constructor(
    private readonly all: DelegationTargets,
    private readonly names: ReadonlySet<string>,
  ) {}

  async list(context: RunContext): Promise<readonly ListedTarget[]> {
    return await this.all.list(context, this.names);
  }

  async open(
    wanted: WantedAgent,
    context: RunContext,
    parent?: DelegatingParent,
  ): Promise<DelegationTarget | undefined> {
    if (!('name' in wanted)) return await this.all.open({ ...wanted, among: this.names }, context, parent);
    return this.names.has(wanted.name) ? await this.all.open(wanted, context, parent) : undefined;
  }
}
