import { claimFault, normaliseCapability } from '#rollcall/registry';
import type { DefinitionContent } from './definition.js';

/** The capabilities that an agent of this definition claims: the valid ones, in their normal form, sorted (S0.5). */
export function capabilitiesOf({ capabilities = [] }: Pick<DefinitionContent, 'capabilities'>): string[] {
  const valid = capabilities.filter((one) => claimFault(one) === undefined);
  return [...new Set(valid.map(normaliseCapability))].toSorted();
}
