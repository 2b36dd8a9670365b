import type { RegistryEvent, SubjectKind } from './event.types.js';

/**
 * The type of an event whose contents were deleted because its namespace has more events than its limit. The position, the id, the
 * namespace and the time remain, so the log has no gap.
 */
export const EXPIRED_EVENT = 'event.expired';

/** The event types of the platform. */
export const PLATFORM_EVENTS = { [EXPIRED_EVENT]: 'namespace' } as const satisfies Record<string, SubjectKind>;

export function isExpired({ type }: Pick<RegistryEvent, 'type'>): boolean {
  return type === EXPIRED_EVENT;
}
