import type { Principal } from '../auth/principal.js';

export const MUTATION = 'rollcall:mutation';

export interface MutationOptions {
  /** The name of the action in the audit log; null for frequent actions of agents and callers, which are not audited. */
  audit: string | null;
  /** The handler runs before the transaction opens and returns an `Effect`, which runs in the transaction. */
  prepares?: true;
  /** With `prepares`: the preparation changes something, so a repetition with the same Idempotency-Key must not run it again. */
  checksKeyFirst?: true;
  /** The route is executed each time, and an Idempotency-Key has no effect. */
  repeatable?: true;
  /** Actions of this kind of principal are not audited, such as those of agents with their lease tokens. */
  unlessBy?: Principal['kind'];
  /** The fields of the body that the audit log contains. Other fields are not recorded. */
  record?: string[];
  /** Fields of the response that the audit log contains, with their names in the audit log. */
  recordResult?: Record<string, string>;
}
