import { Injectable } from '@nestjs/common';
import { requestContext } from '../http/request.context.js';
import type { AuditEntity } from './audit.entity.js';
import { type AuditFilter, AuditStore } from './audit.store.js';

/** Who did what, to what, when and from where: written in the transaction of the act itself. */
@Injectable()
export class AuditService {
  constructor(private readonly store: AuditStore) {}

  async record(action: string, target: string | null, details: Record<string, unknown>): Promise<void> {
    const context = requestContext.getStore();
    if (!context?.principal) throw new Error(`${action} is to be audited, but no one is known to do it`);
    const { requestId, ip, principal } = context;
    const { id, name, fingerprint } = principal;
    await this.store.append({ action, target, details, requestId, ip, actorId: id, actorName: name, fingerprint });
  }

  async list(limit: number, before: string | undefined, filter: AuditFilter): Promise<AuditEntity[]> {
    return await this.store.page(limit, before, filter);
  }
}
