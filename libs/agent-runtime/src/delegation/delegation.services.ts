import type { LoggerService } from '@nestjs/common';
import type { PaymentOptions } from './child.payment.js';
import type { DelegationTargets } from './delegation.targets.js';
import type { RunRecorder } from './run.recorder.js';
import type { TreeCounter } from './tree.counter.js';

/**
 * Which tools a delegated agent has (S2.6). `union`: its own, then those of its parent. `intersection`: its own that its parent
 * has, too. `off`: its own.
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
  /** The limit of the output of one call. It must be below that of the tool executor, which would cut off the end of the label. */
  readonly maxOutputChars?: number;
  readonly now?: () => number;
  readonly log?: Pick<LoggerService, 'error'>;
}
