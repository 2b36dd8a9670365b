import type { DefinitionContent } from './definition.js';

/** The maximum number of queued and running runs of an agent that rejects runs when it is busy. Null if there is no maximum. */
export function maxRunsOf({ whenBusy, maxConcurrency }: DefinitionContent): number | null {
  return whenBusy === 'reject' ? (maxConcurrency ?? null) : null;
}
