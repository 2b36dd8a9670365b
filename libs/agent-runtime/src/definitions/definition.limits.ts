import type { DefinitionContent } from './definition.js';

/** How many runs may be queued or running at a time, if the agent rejects further ones; null: any number. */
export function maxRunsOf({ whenBusy, maxConcurrency }: DefinitionContent): number | null {
  return whenBusy === 'reject' ? (maxConcurrency ?? null) : null;
}
