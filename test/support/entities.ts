import { RUNTIME_ENTITIES } from '#rollcall/agent-runtime/testing';
import { PLATFORM_ENTITIES } from '#rollcall/platform/testing';
import { REGISTRY_ENTITIES } from '#rollcall/registry/testing';
import { PushEntity } from '../../apps/api/src/a2a/push/push.entity.js';
import { InstallationKeyEntity } from '../../apps/api/src/a2a/signing/installation-key.entity.js';
import { AuditEntity } from '../../apps/api/src/audit/audit.entity.js';
import { TicketEntity } from '../../apps/api/src/events/ticket.entity.js';
import { IdempotencyEntity } from '../../apps/api/src/idempotency/idempotency.entity.js';

/** The entities of all tables. */
// oxlint-disable-next-line typescript/no-unsafe-function-type -- the type that TypeORM uses for entity classes
export const ENTITIES: Function[] = [
  ...PLATFORM_ENTITIES,
  ...REGISTRY_ENTITIES,
  ...RUNTIME_ENTITIES,
  AuditEntity,
  IdempotencyEntity,
  TicketEntity,
  PushEntity,
  InstallationKeyEntity,
];
