/** Injection token of the rules budgets are shown by. */
export const VIEW_RULES = Symbol('budget view rules');
/** Injection token of the usage sources of this installation. */
export const USAGE_SOURCES = Symbol('usage sources');
