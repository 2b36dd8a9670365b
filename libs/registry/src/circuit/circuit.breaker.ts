export type CircuitPhase = 'closed' | 'open' | 'half_open';

export interface CircuitPolicy {
  /** So many failures in a row open the circuit. */
  failuresToOpen: number;
  coolDownMs: number;
  /** Each probe that fails makes the next cool-down this many times longer … */
  backOff: number;
  /** … up to this. */
  longestCoolDownMs: number;
  /** A probe that has not reported by then is given up, and the slot is free again. */
  probeMs: number;
}

export const DEFAULT_CIRCUIT_POLICY: CircuitPolicy = {
  failuresToOpen: 5,
  coolDownMs: 10_000,
  backOff: 2,
  longestCoolDownMs: 300_000,
  probeMs: 30_000,
};

/** A plain value: it is stored in one shared row, and each change of it is one conditional UPDATE. */
export interface CircuitState {
  /** As last written. What holds at a moment is `circuitPhase`: a cool-down ends without anyone writing. */
  phase: CircuitPhase;
  consecutiveFailures: number;
  /** How often it opened since it was last closed. */
  openings: number;
  /** From this moment one probe may go; null while closed. */
  openUntil: number | null;
  /** Who holds the one probe slot, and until when. */
  probe: { id: string; expiresAt: number } | null;
}

export type CircuitInput =
  | { kind: 'outcome'; ok: boolean; probeId?: string }
  | { kind: 'claim'; probeId: string }
  /** The probe was not made after all, or told nothing. */
  | { kind: 'return'; probeId: string }
  | { kind: 'tick' };

export interface CircuitTransition {
  from: CircuitPhase;
  to: CircuitPhase;
  at: number;
  reason: 'failures' | 'cool_down_over' | 'probe_succeeded' | 'probe_failed';
}

export interface CircuitStep {
  state: CircuitState;
  /** In order; a claim of a cooled-down circuit first makes it half open. Empty when nothing happened. */
  transitions: CircuitTransition[];
  /** Whether this input was a claim and got the slot. */
  claimed: boolean;
}

export const CLOSED_CIRCUIT: CircuitState = Object.freeze({
  phase: 'closed',
  consecutiveFailures: 0,
  openings: 0,
  openUntil: null,
  probe: null,
});

/** What holds at `now`. */
export function circuitPhase(state: CircuitState, now: number): CircuitPhase {
  return state.phase === 'open' && now >= (state.openUntil ?? 0) ? 'half_open' : state.phase;
}

/** Half open, and nobody is probing: one caller may claim the slot. */
export function probeIsFree(state: CircuitState, now: number): boolean {
  return circuitPhase(state, now) === 'half_open' && !hasLiveProbe(state, now);
}

/** The next moment at which time alone changes what holds; undefined when it never does. */
export function nextCircuitChange(state: CircuitState, now: number): number | undefined {
  if (state.phase === 'open' && state.openUntil !== null && state.openUntil > now) return state.openUntil;
  if (hasLiveProbe(state, now)) return state.probe?.expiresAt;
  return undefined;
}

/**
 * The breaker of one agent: closed → open after so many failures in a row → half open when the cool-down is over, for ONE
 * probe → closed when it succeeds, open for longer when it fails. While open, outcomes of calls that were already under way
 * change nothing. While half open only the holder of the slot is heard; when nobody holds it, an outcome counts as the
 * probe, so that callers who never claim cannot keep a recovered agent out.
 */
export function stepCircuit(
  before: CircuitState,
  input: CircuitInput,
  now: number,
  policy: CircuitPolicy,
): CircuitStep {
  const step = coolDown(before, now);
  switch (input.kind) {
    case 'tick':
      return step;
    case 'claim':
      return claim(step, input.probeId, now, policy);
    case 'return':
      return giveBack(step, input.probeId);
    case 'outcome':
      return step.state.phase === 'half_open'
        ? probeOutcome(step, input, now, policy)
        : outcome(step, input, now, policy);
  }
}

function coolDown(state: CircuitState, now: number): CircuitStep {
  if (state.phase !== 'open' || circuitPhase(state, now) === 'open') return { state, transitions: [], claimed: false };
  const halfOpen: CircuitState = { ...state, phase: 'half_open', probe: null };
  return { state: halfOpen, transitions: [transition('open', 'half_open', now, 'cool_down_over')], claimed: false };
}

/** The holder may claim again, which lengthens nothing: a prober that asks twice has one slot, not two. */
function claim(step: CircuitStep, probeId: string, now: number, policy: CircuitPolicy): CircuitStep {
  const { state } = step;
  if (state.phase !== 'half_open') return step;
  if (hasLiveProbe(state, now)) return { ...step, claimed: state.probe?.id === probeId };
  return { ...step, state: { ...state, probe: { id: probeId, expiresAt: now + policy.probeMs } }, claimed: true };
}

/** Only by its holder: who comes late finds the slot someone else's. */
function giveBack(step: CircuitStep, probeId: string): CircuitStep {
  return step.state.probe?.id === probeId ? { ...step, state: { ...step.state, probe: null } } : step;
}

function outcome(step: CircuitStep, input: { ok: boolean }, now: number, policy: CircuitPolicy): CircuitStep {
  const { state } = step;
  if (state.phase === 'open') return step;
  if (input.ok) return state.consecutiveFailures === 0 ? step : { ...step, state: CLOSED_CIRCUIT };
  const failed = { ...state, consecutiveFailures: state.consecutiveFailures + 1 };
  if (failed.consecutiveFailures < policy.failuresToOpen) return { ...step, state: failed };
  return open({ ...step, state: failed }, now, policy, 'failures');
}

function probeOutcome(
  step: CircuitStep,
  input: { ok: boolean; probeId?: string },
  now: number,
  policy: CircuitPolicy,
): CircuitStep {
  const { state, transitions } = step;
  if (hasLiveProbe(state, now) && state.probe?.id !== input.probeId) return step;
  if (input.ok) {
    const closed = transition('half_open', 'closed', now, 'probe_succeeded');
    return { ...step, state: CLOSED_CIRCUIT, transitions: [...transitions, closed] };
  }
  const failed = { ...state, consecutiveFailures: state.consecutiveFailures + 1 };
  return open({ ...step, state: failed }, now, policy, 'probe_failed');
}

function open(step: CircuitStep, now: number, policy: CircuitPolicy, reason: CircuitTransition['reason']): CircuitStep {
  const { state, transitions } = step;
  const coolDownMs = Math.min(policy.coolDownMs * policy.backOff ** state.openings, policy.longestCoolDownMs);
  return {
    ...step,
    state: { ...state, phase: 'open', openings: state.openings + 1, openUntil: now + coolDownMs, probe: null },
    transitions: [...transitions, transition(state.phase, 'open', now, reason)],
  };
}

function hasLiveProbe(state: CircuitState, now: number): boolean {
  return state.phase === 'half_open' && state.probe !== null && state.probe.expiresAt > now;
}

function transition(
  from: CircuitPhase,
  to: CircuitPhase,
  at: number,
  reason: CircuitTransition['reason'],
): CircuitTransition {
  return { from, to, at, reason };
}

/** Settings that do not fit together, each with what to change. */
export function circuitPolicyFaults(policy: CircuitPolicy): string[] {
  const faults: string[] = [];
  if (policy.failuresToOpen < 1)
    faults.push('failuresToOpen must be at least 1: the circuit would be open from the start');
  if (policy.backOff < 1)
    faults.push('backOff must be at least 1: cool-downs would get shorter with every failed probe');
  if (policy.coolDownMs <= 0) faults.push('coolDownMs must be more than 0: an open circuit would be no circuit');
  if (policy.longestCoolDownMs < policy.coolDownMs) {
    faults.push(
      `longestCoolDownMs (${policy.longestCoolDownMs}) must not be shorter than coolDownMs (${policy.coolDownMs})`,
    );
  }
  if (policy.probeMs <= 0) faults.push('probeMs must be more than 0: nobody could hold the probe slot');
  return faults;
}
