import type { CallContext } from '#rollcall/providers';

/** The limits of a whole tree of runs. The root sets them; a delegated run cannot change them. */
export interface TreeLimits {
  /** How many levels of delegation are allowed below the root. */
  readonly maxDepth: number;
  /** How many delegated runs one run may have in progress at a time. */
  readonly maxWidth: number;
  /** How many runs the tree may start in total, not counting the root. */
  readonly maxRuns: number;
}

/**
 * The position of a run in its tree, and its limits. It travels with every call of a model, a tool or another agent. A model
 * can neither read nor change it, so no prompt can extend a limit.
 */
export interface RunContext extends CallContext {
  readonly limits: TreeLimits;
}
