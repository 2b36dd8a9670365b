import type { LoggerService } from '@nestjs/common';
import type { PaymentOptions } from '../calls/paid.call.js';
import type { DelegationTargets } from './delegation.targets.js';
import type { RunRecorder } from './run.recorder.js';
import type { TreeCounter } from './tree.counter.js';

/**
 * Which tools a delegated agent has (S2.6). `union`: its own tools, then the tools of its parent. `intersection`: only those of its own
 * tools that its parent also has. `off`: only its own tools.
 */
export const INHERITANCE_MODES = ['union', 'intersection', 'off'] as const;
export type InheritanceMode = (typeof INHERITANCE_MODES)[number];

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
