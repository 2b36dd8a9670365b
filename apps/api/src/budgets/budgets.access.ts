import type { Principal } from '../auth/principal.js';

/** Whether the principal may spend on the budgets of agents and runs that it does not own. */
export function maySpendOnAll({ permissions }: Principal): boolean {
  return permissions.includes('budgets:spend-any');
}
