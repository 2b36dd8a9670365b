import type { Message } from '@a2a-js/sdk';
import { Role } from '@a2a-js/sdk';
import { Injectable } from '@nestjs/common';
import { ContractsService } from '#rollcall/registry';
import { AgentQueries } from '../agents/discovery/agent.queries.js';
import { AgentRegistrations } from '../agents/registration/agent.registrations.js';
import { RegisterBody } from '../agents/registration/registration.dto.js';
import { AuditService } from '../audit/audit.service.js';
import { toAnnouncement } from '../contracts/contract.request.js';
import { toContractView } from '../contracts/contract.view.js';
import { AnnounceBody } from '../contracts/contracts.dto.js';
import { validationPipe } from '../http/validation/validation.pipe.js';
import { IdempotencyService } from '../idempotency/idempotency.service.js';
import type { A2aCall } from './a2a.call.js';
import { keyedMessage, type CheckedMessage } from './message.key.js';
import type { SkillCall } from './message.skill.js';
import { messageOf } from './task.mapper.js';

/**
 * The skills of Rollcall itself: register, query and announce do what POST /v1/agents, /v1/agents/query and /v1/contracts do. There
 * is no run, so the response is a message.
 */
@Injectable()
export class RootSkills {
  private readonly pipe = validationPipe();

  constructor(
    private readonly registrations: AgentRegistrations,
    private readonly queries: AgentQueries,
    private readonly contracts: ContractsService,
    private readonly idempotency: IdempotencyService,
    private readonly audit: AuditService,
  ) {}

  async answer(call: A2aCall, asked: SkillCall, sent: CheckedMessage): Promise<Message> {
    const { messageId, contextId } = sent.message;
    const data = await this.result(call, asked, sent);
    const place = { taskId: '', contextId, role: Role.ROLE_AGENT };
    return messageOf(`${messageId}-answer`, { ...place, parts: [{ type: 'data', data }] });
  }

  private async result(call: A2aCall, { skill, input }: SkillCall, sent: CheckedMessage): Promise<unknown> {
    if (skill === 'query') return await this.query(call, input);
    const keyed = keyedMessage(call, sent);
    const earlier = await this.idempotency.storedFor(keyed);
    if (earlier) return earlier.response;
    const act = await (skill === 'register' ? this.register(call, input) : this.announce(call, input));
    return (await this.idempotency.onceFor(keyed, act)).response;
  }

  private async query({ caller, signal }: A2aCall, input: unknown): Promise<unknown> {
    const { json } = await this.queries.answer(input, caller, () => signal);
    return JSON.parse(json) as unknown;
  }

  private async register({ caller }: A2aCall, input: unknown): Promise<() => Promise<unknown>> {
    const body = (await this.pipe.transform(input, { type: 'body', metatype: RegisterBody })) as RegisterBody;
    const effect = await this.registrations.prepare(body, caller);
    return async () => await effect.run();
  }

  private async announce({ caller }: A2aCall, input: unknown): Promise<() => Promise<unknown>> {
    const body = (await this.pipe.transform(input, { type: 'body', metatype: AnnounceBody })) as AnnounceBody;
    return async () => {
      const view = toContractView(await this.contracts.announce(toAnnouncement(body, caller)));
      const { id, capabilities, invited } = view;
      await this.audit.record('contract.announced', { id, namespace: caller.namespace }, { capabilities, invited });
      return view;
    };
  }
}
