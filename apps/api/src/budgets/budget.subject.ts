import { qualifiedId } from '#rollcall/platform';
import { type BudgetKind, FLEET } from '#rollcall/registry';
import type { Principal } from '../auth/principal.js';
import { validationFailed } from '../http/validation/validation.errors.js';
import { checkScope } from '../auth/route.access.js';

/**
 * The subject of a new budget, as the registry stores it. The budget of the fleet concerns all namespaces; any other budget belongs
 * to the namespace of the request.
 */
export function newSubject(kind: BudgetKind, subject: string | undefined, caller: Principal): string {
  checkScope(kind === 'fleet' ? 'installation' : 'one', caller);
  if (kind === 'fleet') return subject ?? FLEET;
  if (kind === 'namespace') return namespaceSubject(subject, caller);
  if (subject === undefined) throw invalidSubject(`subject must name the ${kind} that the budget is for`);
  return qualifiedId(caller.namespace, subject);
}

/** The stored subjects that a filter matches: a local id in the namespace of the request, the namespace itself, or the fleet. */
export function filteredSubjects(subject: string | undefined, caller: Principal): string[] | undefined {
  if (subject === undefined) return undefined;
  checkScope('one', caller);
  const { namespace } = caller;
  const isWhole = subject === namespace || subject === FLEET;
  return [qualifiedId(namespace, subject), ...(isWhole ? [subject] : [])];
}

function namespaceSubject(subject: string | undefined, { namespace }: Principal): string {
  if (subject !== undefined && subject !== namespace)
    throw invalidSubject('subject must be absent: the budget is for the namespace of the request');
  return namespace;
}

function invalidSubject(message: string): Error {
  return validationFailed([{ field: 'subject', message }]);
}

/** Whether the principal may spend on the budgets of agents and runs that it does not own. */
export function maySpendOnAll({ permissions }: Principal): boolean {
  return permissions.includes('budgets:spend-any');
}
