export type CircuitPhase = 'closed' | 'open' | 'half_open';

export interface CircuitPolicy {
  /** This many consecutive failures open the circuit. */
  failuresToOpen: number;
  coolDownMs: number;
  /** The factor by which each failed probe lengthens the next cool-down. */
  backOff: number;
  /** The upper limit of a cool-down. */
  longestCoolDownMs: number;
  /** After this time without an outcome, the probe slot is free again. */
  probeMs: number;
}

export const DEFAULT_CIRCUIT_POLICY: CircuitPolicy = {
  failuresToOpen: 5,
  coolDownMs: 10_000,
  backOff: 2,
  longestCoolDownMs: 300_000,
  probeMs: 30_000,
};

/** A plain value, stored in the row of the circuit that all replicas share. */
export interface CircuitState {
  /** The phase at the last write. Use `circuitPhase` for the current one: a cool-down ends without a write. */
  phase: CircuitPhase;
  consecutiveFailures: number;
  /** How many times the circuit opened since it was last closed. */
  openings: number;
  /** When the next probe is allowed; null while closed. */
  openUntil: number | null;
  /** The holder of the probe slot, and when the slot becomes free. */
  probe: { id: string; expiresAt: number } | null;
}

export type CircuitInput =
  | { kind: 'outcome'; ok: boolean; probeId?: string }
  | { kind: 'acquire'; probeId: string }
  /** Frees the probe slot: there was no probe call, or it gave no information about the agent. */
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
  /** In order, because an acquisition after the cool-down first makes the circuit half open. Empty when the phase did not change. */
  transitions: CircuitTransition[];
  /** Whether the input was `acquire` and got the slot. */
  acquired: boolean;
}

export const CLOSED_CIRCUIT: CircuitState = Object.freeze({
  phase: 'closed',
  consecutiveFailures: 0,
  openings: 0,
  openUntil: null,
  probe: null,
});

/** The phase at `now`. */
export function circuitPhase(state: CircuitState, now: number): CircuitPhase {
  return state.phase === 'open' && now >= (state.openUntil ?? 0) ? 'half_open' : state.phase;
}

/** Whether a caller may acquire the probe slot: the circuit is half open, and no caller holds the slot. */
export function probeIsFree(state: CircuitState, now: number): boolean {
  return circuitPhase(state, now) === 'half_open' && !hasLiveProbe(state, now);
}

/** When the phase or the probe slot changes next without any input; undefined if it never does. */
export function nextCircuitChange(state: CircuitState, now: number): number | undefined {
  if (state.phase === 'open' && state.openUntil !== null && state.openUntil > now) return state.openUntil;
  if (hasLiveProbe(state, now)) return state.probe?.expiresAt;
  return undefined;
}

/**
 * The state machine of one agent's circuit. Consecutive failures open a closed circuit. After the cool-down it is half open and
 * allows exactly one probe: success closes it, failure opens it for longer. While it is open, outcomes of calls that started
 * earlier are ignored. While it is half open, only the outcome of the slot's holder counts. If no caller holds the slot, any
 * outcome counts as the probe, so an agent can recover even if its callers never acquire the slot.
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
    case 'acquire':
      return acquire(step, input.probeId, now, policy);
    case 'return':
      return freeSlot(step, input.probeId);
    case 'outcome':
      return step.state.phase === 'half_open'
        ? probeOutcome(step, input, now, policy)
        : outcome(step, input, now, policy);
  }
}

function coolDown(state: CircuitState, now: number): CircuitStep {
  if (state.phase !== 'open' || circuitPhase(state, now) === 'open') return { state, transitions: [], acquired: false };
  const halfOpen: CircuitState = { ...state, phase: 'half_open', probe: null };
  return { state: halfOpen, transitions: [transition('open', 'half_open', now, 'cool_down_over')], acquired: false };
}

/** The holder may acquire the slot again, which does not extend the time for which it holds the slot. */
function acquire(step: CircuitStep, probeId: string, now: number, policy: CircuitPolicy): CircuitStep {
  const { state } = step;
  if (state.phase !== 'half_open') return step;
  if (hasLiveProbe(state, now)) return { ...step, acquired: state.probe?.id === probeId };
  return { ...step, state: { ...state, probe: { id: probeId, expiresAt: now + policy.probeMs } }, acquired: true };
}

/** Only the holder frees the slot. A late call does not free the slot of the next holder. */
function freeSlot(step: CircuitStep, probeId: string): CircuitStep {
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

/** Returns one message for each invalid setting. */
export function circuitPolicyFaults(policy: CircuitPolicy): string[] {
  const faults: string[] = [];
  if (policy.failuresToOpen < 1)
    faults.push('failuresToOpen must be at least 1: the circuit would be open from the start');
  if (policy.backOff < 1)
    faults.push('backOff must be at least 1: cool-downs would get shorter with every failed probe');
  if (policy.coolDownMs <= 0)
    faults.push('coolDownMs must be more than 0: an open circuit would admit calls immediately');
  if (policy.longestCoolDownMs < policy.coolDownMs) {
    faults.push(
      `longestCoolDownMs (${policy.longestCoolDownMs}) must not be shorter than coolDownMs (${policy.coolDownMs})`,
    );
  }
  if (policy.probeMs <= 0) faults.push('probeMs must be more than 0: no caller could hold the probe slot');
  return faults;
}
