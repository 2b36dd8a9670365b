import { Injectable } from '@nestjs/common';
import { ContractTargets } from '../contracts/contract.targets.js';
import { DefinitionTargets } from './definition.targets.js';
import { CombinedTargets } from './delegation.targets.js';
import { RegistryTargets } from './registry.targets.js';

/** The agents in the namespace of a run: the winner of an auction if the run asks for it, then definitions, then the live registry. */
@Injectable()
export class NamespaceTargets extends CombinedTargets {
  constructor(contracts: ContractTargets, definitions: DefinitionTargets, registry: RegistryTargets) {
    super([contracts, definitions, registry]);
  }
}
