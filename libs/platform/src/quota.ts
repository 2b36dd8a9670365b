import { PlatformError } from './errors.js';

/** How many of one kind of object a credential may have at once. */
export interface Quota {
  /** 0 is no limit. */
  readonly most: number;
  /** The name of the setting, for the message. */
  readonly setting: string;
}

export const NO_QUOTA: Quota = { most: 0, setting: '' };

export class QuotaExceededError extends PlatformError {
  readonly code = 'QUOTA_EXCEEDED';
  override readonly details: Record<string, unknown>;

  /** `what` completes "This credential already has 100 …". */
  constructor({ most, setting }: Quota, what: string) {
    super(
      `This credential already has ${most} ${what}, which is its quota. End some of them, or have the operator raise ${setting}.`,
    );
    this.details = { limit: most, setting };
  }
}
