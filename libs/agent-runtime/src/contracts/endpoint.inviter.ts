import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { localIdOf } from '#rollcall/platform';
import { EgressClient, EgressPolicy, ProviderError, SHORT_CALL_LIMITS } from '#rollcall/providers';
import {
  AgentsService,
  ContractInviters,
  type ContractNotice,
  type Inviter,
  RegistryError,
  toNoticeView,
} from '#rollcall/registry';

/** A separate media type, so that an endpoint without support for contracts rejects a notice and does not read it as a message. */
const NOTICE_TYPE = 'application/vnd.rollcall.contract+json';
const LIMITS = { ...SHORT_CALL_LIMITS, headersMs: 3_000, idleMs: 3_000, totalMs: 3_000, bytes: 64 << 10 };
/** These statuses mean that the endpoint does not accept notices, so a repetition does not help. */
const FINAL_STATUS = /^4(?!08|29)/;

/** Sends notices to the endpoints of agents, through the guarded egress. The agent answers with `POST /v1/contracts/{id}/bids`. */
@Injectable()
export class EndpointInviter implements Inviter, OnApplicationShutdown {
  private readonly client: EgressClient;

  constructor(
    private readonly agents: AgentsService,
    policy: EgressPolicy,
    inviters: ContractInviters,
  ) {
    this.client = new EgressClient({ policy, limits: LIMITS });
    inviters.endpoints = this;
  }

  reaches(): boolean {
    return true;
  }

  async deliver(notice: ContractNotice): Promise<void> {
    const record = await this.agents.get(notice.agentId).catch((error: unknown) => {
      if (error instanceof RegistryError) return undefined; // the agent has left
      throw error;
    });
    if (!record?.endpoint) return;
    const body = { type: `contract.${notice.kind}`, agentId: localIdOf(notice.agentId), ...toNoticeView(notice) };
    const headers = { 'content-type': NOTICE_TYPE };
    const response = await this.client.fetch(record.endpoint, { method: 'POST', headers, body: JSON.stringify(body) });
    await response.arrayBuffer().catch(() => undefined); // reading the body frees the connection
    if (response.ok || FINAL_STATUS.test(String(response.status))) return;
    throw new ProviderError('AGENT_FAILED', `The endpoint of ${notice.agentId} answered ${response.status}.`);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.client.close();
  }
}
