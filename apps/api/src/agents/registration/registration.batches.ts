import { Inject, Injectable } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { plainToInstance } from 'class-transformer';
import { EndpointCheck } from '#rollcall/providers';
import { AgentsService, type JoinResult, type LeasePolicy } from '#rollcall/registry';
import { Authenticator } from '../../auth/credentials/authenticator.js';
import type { Principal } from '../../auth/principal.js';
import { ProblemView } from '../../http/problems/problem.docs.js';
import { problemOf } from '../../http/problems/problem.js';
import { StorageRate } from '../../limits/storage.rate.js';
import { validationFailed } from '../../http/validation/validation.errors.js';
import { validated } from '../../http/validation/validation.pipe.js';
import { RegistrationView } from '../agent.view.js';
import { LEASE_POLICY } from '../liveness/heartbeat.js';
import { toJoinRequest, toRegistrationView, withCard } from './agent.registrations.js';
import { RegisterBatchBody, RegisterBody } from './registration.dto.js';

/** One registration of a batch: valid, or rejected with an error. */
export type BatchItem = { ok: true; body: RegisterBody } | { ok: false; error: unknown };

/** The result of one registration of a batch. */
export class RegistrationResultView {
  @ApiProperty({
    type: 'integer',
    example: 201,
    description: 'The HTTP status of `POST /v1/agents` for the same registration.',
  })
  status: number;
  @ApiPropertyOptional({ type: RegistrationView, description: 'Status 201: the registration.' })
  registration?: RegistrationView;
  @ApiPropertyOptional({ type: ProblemView, description: 'Any other status: the problem.' })
  problem?: ProblemView;
}

const ONE_BY_ONE = 'cardUrl cannot be used in a batch: register the agent with POST /v1/agents, or send agentCard';
/** After this many items, reading yields to other requests. */
const ITEMS_WITHOUT_PAUSE = 50;

/** Registers many agents with one request. Each item is validated with the rules of a single registration and has its own result. */
@Injectable()
export class RegistrationBatches {
  constructor(
    private readonly agents: AgentsService,
    private readonly endpoints: EndpointCheck,
    private readonly authenticator: Authenticator,
    private readonly storage: StorageRate,
    @Inject(LEASE_POLICY) private readonly lease: LeasePolicy,
  ) {}

  /** Validates a `RegisterBatchBody`. Call this before the transaction, because the look-up of host names can be slow. */
  async read(body: unknown): Promise<BatchItem[]> {
    const { agents } = validated(Object.assign(new RegisterBatchBody(), body));
    const items: BatchItem[] = [];
    for (const [index, agent] of agents.entries()) {
      if (index % ITEMS_WITHOUT_PAUSE === ITEMS_WITHOUT_PAUSE - 1) await new Promise(setImmediate);
      items.push(toItem(agent));
    }
    return await this.checked(items);
  }

  /** Rejects the items whose endpoint must not be called. */
  async checked(items: readonly BatchItem[]): Promise<BatchItem[]> {
    const checked = await this.endpoints.checkAll(items.flatMap((item) => (item.ok && item.body.endpoint) || []));
    return items.map((item) => {
      const result = item.ok && item.body.endpoint ? checked.get(item.body.endpoint) : undefined;
      if (!item.ok || !result) return item;
      if ('error' in result) return { ok: false, error: result.error };
      item.body.endpoint = result.url;
      return item;
    });
  }

  /** Registers the valid items. Returns one result for each item, in the order of the items. */
  async register(items: readonly BatchItem[], caller: Principal, requestId: string): Promise<RegistrationResultView[]> {
    const requests = items.flatMap((item) => (item.ok ? [toJoinRequest(item.body, caller)] : []));
    this.storage.take(caller, requests, 0);
    const joined = (await this.agents.registerAll(requests)).values();
    return items.map((item) => {
      const result = item.ok ? joined.next().value : ({ state: 'rejected', error: item.error } as const);
      return this.toResult(result, requestId);
    });
  }

  private toResult(
    result: JoinResult | { state: 'rejected'; error: unknown } | undefined,
    requestId: string,
  ): RegistrationResultView {
    if (result?.state === 'joined') {
      this.authenticator.cacheLease(result.joined.leaseToken, result.joined.record.namespace);
      return { status: 201, registration: toRegistrationView(result.joined, this.lease) };
    }
    const { status, body } = problemOf(result?.error, requestId);
    return { status, problem: body as unknown as ProblemView };
  }
}

function toItem(agent: Record<string, unknown>): BatchItem {
  try {
    const body = validated(plainToInstance(RegisterBody, agent));
    if (body.cardUrl !== undefined) throw validationFailed([{ field: 'cardUrl', message: ONE_BY_ONE }]);
    return { ok: true, body: withCard(body) };
  } catch (error) {
    return { ok: false, error };
  }
}
