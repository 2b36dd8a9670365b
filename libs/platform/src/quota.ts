import { PlatformError } from './errors.js';

/** The number of objects of one kind that a credential, or a namespace, may have at the same time. */
export interface Quota {
  /** 0 means no limit. */
  readonly limit: number;
  /** The name of the setting, for the error message. */
  readonly setting: string;
}

export const NO_QUOTA: Quota = { limit: 0, setting: '' };

export class QuotaExceededError extends PlatformError {
  readonly code = 'QUOTA_EXCEEDED';
  override readonly details: Record<string, unknown>;

  /** `what` completes "This credential already has 100 …". */
  constructor({ limit, setting }: Quota, what: string, whose: 'credential' | 'namespace' = 'credential') {
    super(
      `This ${whose} already has ${limit} ${what}, which is its quota. Remove some of them, or ask the operator to raise ${setting}.`,
    );
    this.details = { limit, setting };
  }
}
