/** Injection token of the `ViewRules` of budgets. */
export const VIEW_RULES = Symbol('budget view rules');
