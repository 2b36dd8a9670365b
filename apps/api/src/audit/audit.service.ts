import { Injectable } from '@nestjs/common';
import { callerOf } from '../auth/caller.js';
import { requestContext } from '../http/request.context.js';
import { auditDetails } from './audit.details.js';
import type { AuditEntity } from './audit.entity.js';
import { type AuditFilter, AuditStore } from './audit.store.js';

/** Who did what, to what, when and from where: written in the transaction of the act itself. */
@Injectable()
export class AuditService {
  constructor(private readonly store: AuditStore) {}

  async record(action: string, target: string | null, details: Record<string, unknown>): Promise<void> {
    const request = requestContext.getStore();
    if (!request) throw new Error(`${action} is to be audited, but no one is known to do it`);
    const { id: actorId, name: actorName, fingerprint } = callerOf(request);
    await this.store.append({
      action,
      target,
      details: auditDetails(details),
      requestId: request.id,
      ip: request.ip,
      actorId,
      actorName,
      fingerprint,
    });
  }

  /** An act of the start itself, before anyone could ask for it. */
  async recordAtStartup(action: string, target: string): Promise<void> {
    const nobody = { requestId: '', ip: '', fingerprint: '' };
    await this.store.append({ action, target, details: {}, actorId: 'system:start', actorName: 'start', ...nobody });
  }

  async list(limit: number, before: string | undefined, filter: AuditFilter): Promise<AuditEntity[]> {
    return await this.store.page(limit, before, filter);
  }
}
