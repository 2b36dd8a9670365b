import { Injectable } from '@nestjs/common';
import { DefinitionTargets } from './definition.targets.js';
import { CombinedTargets } from './delegation.targets.js';
import { RegistryTargets } from './registry.targets.js';

/** The agents in the namespace of a run: first its definitions, then the agents of the live registry. */
@Injectable()
export class NamespaceTargets extends CombinedTargets {
  constructor(definitions: DefinitionTargets, registry: RegistryTargets) {
    super([definitions, registry]);
  }
}
