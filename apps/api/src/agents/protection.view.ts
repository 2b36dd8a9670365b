import type { Protection, ProtectionExplanation } from '#rollcall/registry';

export interface ProtectionView {
  override: Protection['override'];
  /** Null until a sweep has been. */
  explanation: (Omit<ProtectionExplanation, 'since' | 'until'> & { since: string; until: string | null }) | null;
}

export const PROTECTION_EXAMPLE: ProtectionView = {
  override: 'auto',
  explanation: {
    state: 'protecting',
    since: '2026-02-24T10:30:00.000Z',
    until: '2026-02-24T10:40:00.000Z',
    reason: 'mass_silence',
    text: '6 of 10 agents are silent (60 %), more than 15 %: the fault may be ours, so nobody is evicted for now.',
    numbers: { fleet: 10, suspect: 0, expired: 6, silentShare: 0.6, threshold: 0.15, mayEvict: 0 },
  },
};

export function toProtectionView({ override, explanation }: Protection): ProtectionView {
  if (!explanation) return { override, explanation: null };
  const { state, since, until, reason, text, numbers } = explanation;
  const moments = { since: momentOf(since), until: until === null ? null : momentOf(until) };
  return { override, explanation: { state, ...moments, reason, text, numbers } };
}

function momentOf(time: number): string {
  return new Date(time).toISOString();
}
