import { DomainError } from '#rollcall/platform';

/** All error codes of the runtime. The API maps them in an exhaustive table: a new code does not compile without an entry. */
export type RuntimeErrorCode = 'SKILL_NOT_FOUND' | 'SKILLS_TOO_LARGE';

export abstract class RuntimeError extends DomainError {
  abstract override readonly code: RuntimeErrorCode;
}
