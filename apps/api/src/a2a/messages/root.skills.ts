import { type Message, Role } from '@a2a-js/sdk';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { AgentQueries } from '../../agents/discovery/agent.queries.js';
import { AgentRegistrations } from '../../agents/registration/agent.registrations.js';
import { RegisterBody } from '../../agents/registration/registration.dto.js';
import { AuditService } from '../../audit/audit.service.js';
import type { Permission } from '../../auth/permissions.js';
import { ContractAnnouncer } from '../../contracts/contract.announcer.js';
import { toAnnouncement } from '../../contracts/contract.request.js';
import { toContractView } from '../../contracts/contract.view.js';
import { AnnounceBody } from '../../contracts/contracts.dto.js';
import { validationPipe } from '../../http/validation/validation.pipe.js';
import { IdempotencyService } from '../../idempotency/idempotency.service.js';
import type { Address, IncomingCall } from '../incoming.calls.js';
import { messageOf } from '../tasks/task.mapper.js';
import { type CheckedMessage, keyedMessage } from './message.js';

/** The skills of Rollcall itself, each with the permission that the same operation requires in the REST API. */
const PERMISSIONS = {
  register: 'agents:register',
  query: 'agents:query',
  announce: 'contracts:announce',
} as const satisfies Record<string, Permission>;

/** The skill that sends the message to an agent. A message that names no skill is treated the same way. */
const ROUTE = 'route';
const NAMES = Object.keys(PERMISSIONS);

const Metadata = z.looseObject({ skill: z.unknown().optional() }).optional().catch(undefined);
const Part = z.looseObject({ data: z.unknown().optional() }).catch({});
const MessageSchema = z.looseObject({
  metadata: Metadata,
  parts: z.array(Part).catch([]),
  taskId: z.unknown().optional(),
});
const SentSchema = z.looseObject({ metadata: Metadata, message: MessageSchema });

type RootSkill = keyof typeof PERMISSIONS;

interface SkillCall {
  readonly skill: RootSkill;
  /** The same value as the body of the REST request. */
  readonly input: unknown;
}

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
    private readonly contracts: ContractAnnouncer,
    private readonly idempotency: IdempotencyService,
    private readonly audit: AuditService,
  ) {}

  async answer(call: IncomingCall, asked: SkillCall, sent: CheckedMessage): Promise<Message> {
    const { messageId, contextId } = sent.message;
    const data = await this.result(call, asked, sent);
    const place = { taskId: '', contextId, role: Role.ROLE_AGENT };
    return messageOf(`${messageId}-answer`, { ...place, parts: [{ type: 'data', data }] });
  }

  private async result(call: IncomingCall, { skill, input }: SkillCall, sent: CheckedMessage): Promise<unknown> {
    if (skill === 'query') return await this.query(call, input);
    const keyed = keyedMessage(call, sent);
    const earlier = await this.idempotency.storedFor(keyed);
    if (earlier) return earlier.response;
    const act = await (skill === 'register' ? this.register(call, input) : this.announce(call, input));
    return (await this.idempotency.onceFor(keyed, act)).response;
  }

  private async query({ caller, signal }: IncomingCall, input: unknown): Promise<unknown> {
    const { json } = await this.queries.answer(input, caller, () => signal);
    return JSON.parse(json) as unknown;
  }

  private async register({ caller }: IncomingCall, input: unknown): Promise<() => Promise<unknown>> {
    const body = (await this.pipe.transform(input, { type: 'body', metatype: RegisterBody })) as RegisterBody;
    const effect = await this.registrations.prepare(body, caller);
    return async () => await effect.run();
  }

  private async announce({ caller }: IncomingCall, input: unknown): Promise<() => Promise<unknown>> {
    const body = (await this.pipe.transform(input, { type: 'body', metatype: AnnounceBody })) as AnnounceBody;
    return async () => {
      const view = toContractView(await this.contracts.announce(caller, toAnnouncement(body, caller)));
      const { id, capabilities, invited } = view;
      await this.audit.record('contract.announced', { id, namespace: caller.namespace }, { capabilities, invited });
      return view;
    };
  }
}

/**
 * Returns the skill of Rollcall that a message names. If the metadata names it, the first data part is the input. Otherwise, a data
 * part `{"skill", "input"}` contains both. `request` may be invalid.
 */
export function skillIn(request: unknown): SkillCall | undefined {
  const { data: sent } = SentSchema.safeParse(request);
  if (!sent || sent.message.taskId) return undefined;
  const contents = sent.message.parts.map(({ data }) => data).filter((data) => data !== undefined && data !== null);
  const named = sent.metadata?.skill ?? sent.message.metadata?.skill;
  if (named !== undefined) return named === ROUTE ? undefined : { skill: known(named), input: contents[0] };
  for (const content of contents) {
    const { skill, input } = content as { skill?: unknown; input?: unknown };
    if (isSkill(skill)) return { skill, input };
  }
  return undefined;
}

/** The permission to send a message to this address. */
export function permissionToSend({ agentId, tenant }: Address, request: unknown): Permission {
  const asked = agentId !== undefined || tenant ? undefined : skillIn(request);
  return asked ? PERMISSIONS[asked.skill] : 'runs:start';
}

function isSkill(name: unknown): name is RootSkill {
  return typeof name === 'string' && NAMES.includes(name);
}

function known(name: unknown): RootSkill {
  if (isSkill(name)) return name;
  throw new RequestMalformedError(`metadata.skill must be one of ${[ROUTE, ...NAMES].join(', ')}.`);
}
