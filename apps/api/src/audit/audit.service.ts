import { Injectable } from '@nestjs/common';
import { ALL_NAMESPACES, type KeyChanges, type Statement } from '#rollcall/platform';
import { requestContext } from '../http/server/request.context.js';
import type { AuditEntity } from './audit.entity.js';
import { type AuditFilter, AuditStore, type NewAuditEntry } from './audit.store.js';
import { callerOf } from '../auth/principal.js';

/** The object of an audited action. */
export interface AuditTarget {
  id: string | null;
  namespace: string;
}

/** Records audited actions in the transaction of the action itself. */
@Injectable()
export class AuditService implements KeyChanges {
  constructor(private readonly store: AuditStore) {}

  async record(action: string, target: AuditTarget, details: Record<string, unknown>): Promise<void> {
    await this.store.append(entryOf(action, target, details));
  }

  /** Like `record`, for a service that commits the action of the current request together with those of other requests. */
  statement(action: string, target: AuditTarget, details: Record<string, unknown>): Statement {
    return this.store.statement(entryOf(action, target, details));
  }

  /** Records an action of the process during its start, where there is no request. */
  async recordAtStartup(action: string, target: string): Promise<void> {
    const noRequest = { requestId: '', ip: '', fingerprint: '', namespace: ALL_NAMESPACES };
    await this.store.append({ action, target, details: {}, actorId: 'system:start', actorName: 'start', ...noRequest });
  }

  async list(limit: number, before: string | undefined, filter: AuditFilter): Promise<AuditEntity[]> {
    return await this.store.page(limit, before, filter);
  }
}

/** An action of the current request. */
function entryOf(action: string, target: AuditTarget, details: Record<string, unknown>): NewAuditEntry {
  const request = requestContext.getStore();
  if (!request) throw new Error(`${action} must be audited, but there is no current request`);
  const { id: actorId, name: actorName, fingerprint } = callerOf(request);
  return {
    namespace: target.namespace,
    action,
    target: target.id,
    details: auditDetails(details),
    requestId: request.id,
    ip: request.ip,
    actorId,
    actorName,
    fingerprint,
  };
}

const URL_START = /^https?:/i;

/** Removes user, password, query and fragment from URLs, because they may contain credentials. */
function auditDetails(details: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(details).map(([name, value]) => [name, typeof value === 'string' ? withoutSecrets(value) : value]),
  );
}

function withoutSecrets(text: string): string {
  if (!URL_START.test(text) || !URL.canParse(text)) return text;
  const { origin, pathname, search } = new URL(text);
  const path = pathname === '/' ? '' : pathname;
  return `${origin}${path}${search ? '?…' : ''}`;
}
