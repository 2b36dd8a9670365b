import { Injectable } from '@nestjs/common';
import { qualifiedId } from '#rollcall/platform';
import { type AgentQuery, MAX_LIMIT } from '../discovery/agent.query.js';
import { DirectoryFollower } from '../discovery/directory.follower.js';
import { Ranker } from '../discovery/ranker.js';
import { RegistryClock } from '../discovery/registry.clock.js';
import type { Invited } from './bid.store.js';
import type { Announcement } from './contract.js';

/** Finds the agents that a contract invites: the routable agents of its namespace that have the capabilities. */
@Injectable()
export class ContractInvitees {
  constructor(
    private readonly ranker: Ranker,
    private readonly follower: DirectoryFollower,
    private readonly clock: RegistryClock,
  ) {}

  /** At most `MAX_LIMIT` agents; if there are more, the cheapest ones by their declared prices. `query` adds conditions. */
  async find({ namespace, capabilities }: Announcement, query: AgentQuery = {}): Promise<Invited[]> {
    await this.follower.refresh();
    const { candidates } = this.ranker.rank(
      { capabilities, ...query, namespace, limit: MAX_LIMIT, prefer: undefined, explain: false },
      this.clock.now(),
    );
    return candidates.map(({ agent }) => ({
      agentId: qualifiedId(agent.namespace, agent.agentId),
      generation: agent.generation,
    }));
  }
}
