import { Inject, Injectable } from '@nestjs/common';
import { LedgerSpending } from '../spending/ledger.spending.js';
import type { Spending } from '../spending/spending.js';
import { TOOLS_OPTIONS, type ToolsOptions } from '../tools/tools.options.js';
import { ProcessTreeCounter } from './delegation.limits.js';
import type { DelegationServices, InheritanceMode, RunRecorder } from './delegation.services.js';
import { AgentFactoryRegistry, type NamedFactory } from './targets/agent.factories.js';
import { CombinedTargets, type DelegationTargets } from './targets/delegation.targets.js';

export const DELEGATION_OPTIONS = Symbol('DELEGATION_OPTIONS');

export interface DelegationOptions extends DelegationLimits {
  readonly inheritance?: InheritanceMode;
  /** The longest time of a delegated run. */
  readonly childTimeoutMs?: number;
  /** How many tokens are held for a call of an agent that has its own loop. */
  readonly externalTokens?: number;
  /** Factories of agents that are registered at the start. */
  readonly factories?: readonly NamedFactory[];
  /** Without it, delegated runs leave no record. */
  readonly recorder?: RunRecorder;
}

/** The limits of the tree of runs, if the agent of its root does not set them. */
interface DelegationLimits {
  readonly maxDelegationDepth?: number;
  readonly maxDelegationWidth?: number;
  readonly maxDelegatedRuns?: number;
}

/** The share of the output limit of a tool that answers of agents may use. The rest is for the labels and notices around them. */
const OUTPUT_SHARE = 0.8;

/** Delegation in this installation: to the registered factories, definitions and agents of the live registry, paid from the ledger. */
@Injectable()
export class Delegation {
  readonly services: DelegationServices;
  readonly limits: DelegationLimits;

  constructor(
    readonly factories: AgentFactoryRegistry,
    @Inject(CombinedTargets) targets: DelegationTargets,
    @Inject(LedgerSpending) spending: Spending,
    @Inject(TOOLS_OPTIONS) { limits }: ToolsOptions,
    @Inject(DELEGATION_OPTIONS) options: DelegationOptions,
  ) {
    const { externalTokens, inheritance, childTimeoutMs, recorder, factories: named = [], ...treeLimits } = options;
    this.limits = treeLimits;
    for (const { name, description, create } of named) factories.register(name, description, create);
    this.services = {
      inheritance,
      childTimeoutMs,
      targets,
      counter: new ProcessTreeCounter(),
      ...(recorder && { recorder }),
      payment: externalTokens === undefined ? { spending } : { spending, externalTokens },
      maxOutputChars: Math.floor(limits.maxOutputChars * OUTPUT_SHARE),
    };
  }
}
