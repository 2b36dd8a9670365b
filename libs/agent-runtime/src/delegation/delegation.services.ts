import type { LoggerService } from '@nestjs/common';
import type { Agent } from '#rollcall/providers';
import type { PaymentOptions } from '../calls/paid.call.js';
import type { RunContext } from '../loop/run.context.js';
import type { TreeCounter } from './delegation.limits.js';
import type { DelegationTarget, DelegationTargets } from './targets/delegation.targets.js';

/**
 * Which tools a delegated agent has (S2.6). `union`: its own tools, then the tools of its parent. `intersection`: only those of its own
 * tools that its parent also has. `off`: only its own tools.
 */
export const INHERITANCE_MODES = ['union', 'intersection', 'off'] as const;
export type InheritanceMode = (typeof INHERITANCE_MODES)[number];

/** Records delegated runs. Its implementation is a part of durable runs; without it, delegated runs leave no record. */
export abstract class RunRecorder {
  /**
   * The agent of the target. Its calls are recorded as runs if the root of their tree is a durable run of this replica. A repeated call
   * of the same delegated run continues where it was interrupted, or returns the recorded result.
   */
  abstract recorded(target: DelegationTarget, payment?: PaymentOptions): Agent;
  /** The revision of the definition that a run was started with; undefined if the run does not exist or has no definition. */
  abstract revisionOf(run: RunContext): Promise<number | undefined>;
}

/** What all agents of an installation share for delegation. */
export interface DelegationServices {
  /** Further targets, after the factories, such as the agents of the live registry. */
  readonly targets?: DelegationTargets;
  readonly counter?: TreeCounter;
  readonly payment?: PaymentOptions;
  readonly recorder?: RunRecorder;
  /** The default is `union`. */
  readonly inheritance?: InheritanceMode;
  /** The longest time of a delegated run. The default is ten minutes. */
  readonly childTimeoutMs?: number;
  /** The limit of the output of one call. It must be below the limit of the tool executor, which could cut off the label. */
  readonly maxOutputChars?: number;
  readonly now?: () => number;
  readonly log?: Pick<LoggerService, 'error'>;
}
