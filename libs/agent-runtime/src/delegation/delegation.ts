import { Inject, Injectable, Optional } from '@nestjs/common';
import { LedgerSpending } from '../spending/ledger.spending.js';
import { TOOLS_OPTIONS, type ToolsOptions } from '../tools/tools.options.js';
import { AgentFactoryRegistry } from './agent.factories.js';
import type { DelegationServices, InheritanceMode } from './delegation.services.js';
import { RegistryTargets } from './registry.targets.js';
import { RunRecorder } from './run.recorder.js';
import { ProcessTreeCounter } from './tree.counter.js';

export const DELEGATION_OPTIONS = Symbol('DELEGATION_OPTIONS');

export interface DelegationOptions {
  readonly inheritance?: InheritanceMode;
  /** The longest time of a delegated run. */
  readonly childTimeoutMs?: number;
  /** How many tokens are held for a call of an agent that has its own loop. */
  readonly externalTokens?: number;
}

/** The rest of the limit of a tool is for the labels and the notices around the answers of agents. */
const OUTPUT_SHARE = 0.8;

/** Delegation in this installation: to the registered factories and to the agents of the live registry, paid from the ledger. */
@Injectable()
export class Delegation {
  readonly services: DelegationServices;

  constructor(
    readonly factories: AgentFactoryRegistry,
    targets: RegistryTargets,
    spending: LedgerSpending,
    @Inject(TOOLS_OPTIONS) { limits }: ToolsOptions,
    @Inject(DELEGATION_OPTIONS) { externalTokens, ...options }: DelegationOptions,
    @Optional() recorder?: RunRecorder,
  ) {
    this.services = {
      ...options,
      targets,
      counter: new ProcessTreeCounter(),
      payment: externalTokens === undefined ? { spending } : { spending, externalTokens },
      ...(recorder && { recorder }),
      maxOutputChars: Math.floor(limits.maxOutputChars * OUTPUT_SHARE),
    };
  }
}
