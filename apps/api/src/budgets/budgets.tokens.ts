/** Injection token of the rules by which budgets are shown. */
export const VIEW_RULES = Symbol('budget view rules');
