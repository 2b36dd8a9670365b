import { Inject, Injectable } from '@nestjs/common';
import { AgentsService, type JoinResult, type LeasePolicy } from '#rollcall/registry';
import { Authenticator } from '../auth/authenticator.js';
import type { Principal } from '../auth/principal.js';
import { LEASE_POLICY } from './agents.tokens.js';
import type { BatchItem } from './registration-batch.reader.js';
import type { RegistrationResultView } from './registration-batch.view.js';
import { toJoinRequest, toRegistrationView } from './registration.mapper.js';
import { problemOf } from '../http/problems/problem.js';
import type { ProblemView } from '../http/problems/problem.docs.js';

type Rejected = { state: 'rejected'; error: unknown };

/** Registers the valid items of a batch. */
@Injectable()
export class RegistrationBatchWriter {
  constructor(
    private readonly agents: AgentsService,
    private readonly authenticator: Authenticator,
    @Inject(LEASE_POLICY) private readonly lease: LeasePolicy,
  ) {}

  /** Returns one result for each item, in the order of the items. */
  async register(items: readonly BatchItem[], caller: Principal, requestId: string): Promise<RegistrationResultView[]> {
    const requests = items.flatMap((item) => (item.ok ? [toJoinRequest(item.body, caller)] : []));
    const joined = (await this.agents.registerAll(requests)).values();
    return items.map((item) => {
      const result = item.ok ? joined.next().value : ({ state: 'rejected', error: item.error } as const);
      return this.toResult(result, requestId);
    });
  }

  private toResult(result: JoinResult | Rejected | undefined, requestId: string): RegistrationResultView {
    if (result?.state === 'joined') {
      this.authenticator.cacheLease(result.joined.leaseToken, result.joined.record.namespace);
      return { status: 201, registration: toRegistrationView(result.joined, this.lease) };
    }
    const { status, body } = problemOf(result?.error, requestId);
    return { status, problem: body as unknown as ProblemView };
  }
}
