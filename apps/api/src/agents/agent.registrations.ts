import { Inject, Injectable } from '@nestjs/common';
import { AgentsService, type LeasePolicy } from '#rollcall/registry';
import { Authenticator } from '../auth/credentials/authenticator.js';
import type { Principal } from '../auth/principal.js';
import { Effect } from '../mutation/effect.js';
import type { RegistrationView } from './agent.view.js';
import type { RegisterBody } from './agents.dto.js';
import { LEASE_POLICY } from './agents.tokens.js';
import { toJoinRequest, toRegistrationView } from './registration.mapper.js';
import { RegistrationReader } from './registration.reader.js';

/** Registers agents, for all protocols. */
@Injectable()
export class AgentRegistrations {
  constructor(
    private readonly agents: AgentsService,
    private readonly reader: RegistrationReader,
    private readonly authenticator: Authenticator,
    @Inject(LEASE_POLICY) private readonly lease: LeasePolicy,
  ) {}

  /** Reads the card and checks the endpoint before the transaction, because both can be slow. The returned effect registers the agent. */
  async prepare(body: RegisterBody, caller: Principal): Promise<Effect<RegistrationView>> {
    const complete = await this.reader.complete(body);
    return new Effect(async () => await this.join(complete, caller));
  }

  private async join(body: RegisterBody, caller: Principal): Promise<RegistrationView> {
    const joined = await this.agents.register(toJoinRequest(body, caller));
    this.authenticator.cacheLease(joined.leaseToken, caller.namespace);
    return toRegistrationView(joined, this.lease);
  }
}
