import type { Principal } from '../auth/principal.js';

export const MUTATION = 'rollcall:mutation';

export interface MutationFacts {
  /** The name of the act in the audit log; null for what agents do for themselves all the time. */
  audit: string | null;
  /** The handler returns an `Effect`: it runs before the transaction opens, and only its effect runs in the transaction. */
  prepares?: true;
  /** Done again each time it is sent: an Idempotency-Key has no effect. */
  repeatable?: true;
  /** Whose acts stay out of the audit log: agents with their lease tokens act for themselves. */
  unlessBy?: Principal['kind'];
  /** The fields of the body that go into the audit log. Those not named stay out. */
  record?: string[];
  /** Fields of the answer that go in too, by the names they get there. */
  recordResult?: Record<string, string>;
}
