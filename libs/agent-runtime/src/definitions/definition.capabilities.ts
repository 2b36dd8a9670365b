import { capabilityFault, normaliseCapability } from '#rollcall/registry';
import type { DefinitionContent } from './definition.js';

/** Letters, digits, and characters that occur in the names of technologies, such as `c++`, `c#` and `ci/cd`. */
const VALID = /^[\p{L}\p{M}\p{N}+#/:@-]+(?:\.[\p{L}\p{M}\p{N}+#/:@-]+)*$/u;

/** The capabilities that an agent of this definition claims: the valid ones, in their normal form, sorted (S0.5). */
export function capabilitiesOf({ capabilities = [] }: Pick<DefinitionContent, 'capabilities'>): string[] {
  const claimable = capabilities.filter((one) => capabilityFault(one) === undefined).map(normaliseCapability);
  return [...new Set(claimable.filter((one) => VALID.test(one)))].toSorted();
}
