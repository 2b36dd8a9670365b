import { Injectable } from '@nestjs/common';
import { qualifiedId } from '#rollcall/platform';
import { Directory } from '#rollcall/registry';
import { DefinitionsService } from '../definitions/definitions.service.js';
import { addressOf } from '../delegation/agent.address.js';
import type { DelegationTarget } from '../delegation/delegation.targets.js';
import { RegistryTargets } from '../delegation/registry.targets.js';
import { HostedAgents } from '../lifecycle/hosted.agents.js';
import type { RunContext } from '../loop/run.context.js';
import { RunTargetUnknownError } from './run.errors.js';
import type { Run } from './run.js';

/** The agent of a run, ready for one execution. */
export interface OpenAgent {
  readonly target: DelegationTarget;
  /** Aborted when the agent is shut down. */
  readonly signal?: AbortSignal;
  /** Whether an interrupted call may be repeated, according to its definition or its labels. */
  readonly isIdempotent: boolean;
}

const MARK = 'idempotent';

/** Opens the agents of runs: those of definitions on this replica, all others through the registry and their circuit. */
@Injectable()
export class RunAgents {
  constructor(
    private readonly hosted: HostedAgents,
    private readonly definitions: DefinitionsService,
    private readonly registered: RegistryTargets,
    private readonly directory: Directory,
  ) {}

  async open(run: Run, context: RunContext): Promise<OpenAgent> {
    const record = this.directory.find(qualifiedId(run.namespace, run.agentId))?.record;
    const isForeign = !run.definition && (!record || addressOf(record) !== undefined);
    return isForeign ? await this.foreign(run, context) : await this.own(run);
  }

  private async own({ namespace, definition, agentId: name }: Run): Promise<OpenAgent> {
    const { agent, signal, release } = await this.hosted.use({ namespace, name });
    const close = async (): Promise<void> => await Promise.resolve(release());
    try {
      const isIdempotent =
        definition !== null &&
        agent.agentType !== 'in-process' &&
        (await this.isMarked({ namespace, name: definition.name }));
      return { target: { name, agent, close }, signal, isIdempotent };
    } catch (error) {
      release();
      throw error;
    }
  }

  private async foreign({ namespace, agentId }: Run, context: RunContext): Promise<OpenAgent> {
    const target = await this.registered.open({ name: agentId }, context);
    if (!target) throw new RunTargetUnknownError(agentId);
    const labels = this.directory.find(qualifiedId(namespace, agentId))?.record.labels ?? {};
    return { target, isIdempotent: labels[MARK] === 'true' };
  }

  private async isMarked(key: { namespace: string; name: string }): Promise<boolean> {
    return (await this.definitions.get(key)).content.metadata?.[MARK] === true;
  }
}
