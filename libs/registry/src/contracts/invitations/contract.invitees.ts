import { Injectable } from '@nestjs/common';
import { qualifiedId } from '#rollcall/platform';
import type { AgentQuery } from '../../discovery/ranking/agent.query.js';
import { DirectoryFollower } from '../../discovery/directory/directory.follower.js';
import { Ranker } from '../../discovery/ranking/ranker.js';
import { RegistryClock } from '../../discovery/directory/registry.clock.js';
import type { Announcement } from '../contract.js';
import type { Invited } from '../store/bid.store.js';
import { ContractInviters } from './contract.inviters.js';

/** The transcript and the event of an announcement contain all invited agents, so their number is limited. */
export const MAX_INVITED = 1_000;

export interface Invitation {
  readonly agents: readonly Invited[];
  /** How many capable agents are not invited, because of the limit. */
  readonly notInvited: number;
}

/** Further conditions for the invited agents. */
export interface InvitationRules {
  readonly query?: AgentQuery;
  /** `agentId` is local to the namespace. */
  readonly accepts?: (agentId: string) => boolean;
  /** Only agents that can execute a run. By default, only contracts with `run` have this rule. */
  readonly mustRun?: boolean;
}

/** Finds the agents that a contract invites: the routable agents of its namespace that have the capabilities. */
@Injectable()
export class ContractInvitees {
  constructor(
    private readonly ranker: Ranker,
    private readonly follower: DirectoryFollower,
    private readonly clock: RegistryClock,
    private readonly inviters: ContractInviters,
  ) {}

  /** At most `MAX_INVITED` agents; if there are more, the cheapest ones by their declared prices. */
  async find({ namespace, capabilities, run }: Announcement, rules: InvitationRules = {}): Promise<Invitation> {
    await this.follower.refresh();
    const { query, accepts, mustRun = run } = rules;
    const wanted = { capabilities, ...query, namespace, prefer: undefined };
    const matching = this.ranker.matchAll(wanted, this.clock.now()).filter((one) => !accepts || accepts(one.agentId));
    const capable = (await this.inviters.eligible?.(matching, mustRun)) ?? matching;
    const agents = capable.slice(0, MAX_INVITED).map(({ namespace: of, agentId, generation }) => ({
      agentId: qualifiedId(of, agentId),
      generation,
    }));
    return { agents, notInvited: capable.length - agents.length };
  }
}
