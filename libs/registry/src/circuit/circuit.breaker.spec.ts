import * as fc from 'fast-check';
import {
  CLOSED_CIRCUIT,
  circuitPhase,
  circuitPolicyFaults,
  nextCircuitChange,
  probeIsFree,
  stepCircuit,
  DEFAULT_CIRCUIT_POLICY,
  type CircuitInput,
  type CircuitState,
} from './circuit.breaker.js';

const POLICY = { failuresToOpen: 3, coolDownMs: 1_000, backOff: 2, longestCoolDownMs: 5_000, probeMs: 400 };
const FAILURE: CircuitInput = { kind: 'outcome', ok: false };
const SUCCESS: CircuitInput = { kind: 'outcome', ok: true };
const acquire = (probeId: string): CircuitInput => ({ kind: 'acquire', probeId });

function after(inputs: [CircuitInput, number][], from: CircuitState = CLOSED_CIRCUIT): CircuitState {
  return inputs.reduce((state, [input, now]) => stepCircuit(state, input, now, POLICY).state, from);
}

const OPEN = after([
  [FAILURE, 0],
  [FAILURE, 0],
  [FAILURE, 0],
]);

describe('the circuit breaker', () => {
  it('S3.8 opens after the configured number of consecutive failures, with one transition', () => {
    const almost = after([
      [FAILURE, 1],
      [FAILURE, 2],
    ]);
    expect(circuitPhase(almost, 2)).toBe('closed');
    const step = stepCircuit(almost, FAILURE, 3, POLICY);
    expect(step.transitions).toEqual([{ from: 'closed', to: 'open', at: 3, reason: 'failures' }]);
    expect(step.state).toMatchObject({ phase: 'open', consecutiveFailures: 3, openUntil: 1_003, openings: 1 });
  });

  it('S3.8 resets the failure count after a success', () => {
    const state = after([
      [FAILURE, 0],
      [FAILURE, 0],
      [SUCCESS, 0],
      [FAILURE, 0],
      [FAILURE, 0],
    ]);
    expect(state).toMatchObject({ phase: 'closed', consecutiveFailures: 2 });
  });

  it('S3.8 ignores late outcomes and stays open until the cool-down ends', () => {
    expect(after([[SUCCESS, 500]], OPEN)).toEqual(OPEN);
    expect(after([[FAILURE, 999]], OPEN)).toEqual(OPEN);
    expect(stepCircuit(OPEN, acquire('early'), 999, POLICY).acquired).toBe(false);
    expect(circuitPhase(OPEN, 999)).toBe('open');
    expect(circuitPhase(OPEN, 1_000)).toBe('half_open');
  });

  it('S3.8 grants its one probe slot to the first claim', () => {
    const first = stepCircuit(OPEN, acquire('first'), 1_000, POLICY);
    expect(first.acquired).toBe(true);
    expect(first.transitions).toEqual([{ from: 'open', to: 'half_open', at: 1_000, reason: 'cool_down_over' }]);
    expect(stepCircuit(first.state, acquire('second'), 1_100, POLICY).acquired).toBe(false);
    expect(stepCircuit(first.state, acquire('first'), 1_100, POLICY)).toMatchObject({
      acquired: true,
      state: first.state,
    });
    expect(probeIsFree(first.state, 1_399)).toBe(false);
  });

  it('S3.8 frees a probe slot whose holder does not report in time', () => {
    const held = after([[acquire('dead'), 1_000]], OPEN);
    expect(nextCircuitChange(held, 1_000)).toBe(1_400);
    expect(probeIsFree(held, 1_400)).toBe(true);
    const second = stepCircuit(held, acquire('second'), 1_400, POLICY);
    expect(second.acquired).toBe(true);
    expect(after([[{ ...SUCCESS, probeId: 'dead' }, 1_500]], second.state)).toEqual(second.state);
  });

  it('S3.8 closes when the probe succeeds', () => {
    const held = after([[acquire('p'), 1_000]], OPEN);
    const step = stepCircuit(held, { ...SUCCESS, probeId: 'p' }, 1_100, POLICY);
    expect(step.state).toEqual(CLOSED_CIRCUIT);
    expect(step.transitions).toEqual([{ from: 'half_open', to: 'closed', at: 1_100, reason: 'probe_succeeded' }]);
  });

  it('S3.8 opens for longer after each failed probe, up to the longest cool-down', () => {
    let state = OPEN;
    const coolDowns: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      const at = state.openUntil ?? 0;
      state = after([[acquire('p'), at], [{ ...FAILURE, probeId: 'p' }, at]], state); // prettier-ignore
      coolDowns.push((state.openUntil ?? 0) - at);
    }
    expect(coolDowns).toEqual([2_000, 4_000, 5_000, 5_000, 5_000]);
  });

  it('S3.8 accepts only the outcome of the probe while the slot is held', () => {
    const held = after([[acquire('p'), 1_000]], OPEN);
    expect(after([[SUCCESS, 1_100]], held)).toEqual(held);
    expect(after([[{ ...FAILURE, probeId: 'other' }, 1_100]], held)).toEqual(held);
  });

  it('S3.8 treats an outcome as the probe if the slot is free', () => {
    const step = stepCircuit(OPEN, SUCCESS, 1_200, POLICY);
    expect(step.state).toEqual(CLOSED_CIRCUIT);
    expect(step.transitions.map(({ to }) => to)).toEqual(['half_open', 'closed']);
    expect(stepCircuit(OPEN, FAILURE, 1_200, POLICY).state).toMatchObject({ phase: 'open', openUntil: 3_200 });
  });

  it('S3.8 records the end of the cool-down at a tick', () => {
    expect(stepCircuit(OPEN, { kind: 'tick' }, 999, POLICY).transitions).toEqual([]);
    expect(stepCircuit(OPEN, { kind: 'tick' }, 1_000, POLICY).state.phase).toBe('half_open');
  });

  it('S3.8 the state of a circuit breaker can be stored as JSON', () => {
    expect(JSON.parse(JSON.stringify(OPEN))).toEqual(OPEN);
  });

  it('reports every invalid setting', () => {
    expect(circuitPolicyFaults(DEFAULT_CIRCUIT_POLICY)).toEqual([]);
    const faults = circuitPolicyFaults({
      failuresToOpen: 0,
      coolDownMs: 0,
      backOff: 0.5,
      longestCoolDownMs: -1,
      probeMs: 0,
    });
    expect(faults).toHaveLength(5);
  });
});

const input: fc.Arbitrary<CircuitInput> = fc.oneof(
  fc.record({ kind: fc.constant('outcome' as const), ok: fc.boolean(), probeId: fc.constantFrom('a', 'b', undefined) }),
  fc.record({ kind: fc.constantFrom('acquire' as const, 'return' as const), probeId: fc.constantFrom('a', 'b', 'c') }),
  fc.constant({ kind: 'tick' as const }),
);
const history = fc.array(fc.tuple(input, fc.nat(700)), { maxLength: 80 });

describe('the circuit breaker, after any sequence of inputs', () => {
  it('S3.8 a circuit has at most one probe at a time, and each transition starts at the previous phase', () => {
    fc.assert(
      fc.property(history, (steps) => {
        let state: CircuitState = CLOSED_CIRCUIT;
        let now = 0;
        let phase = 'closed';
        let holder: { id: string; until: number } | undefined;
        for (const [next, pause] of steps) {
          now += pause;
          const step = stepCircuit(state, next, now, POLICY);
          if (step.acquired && next.kind === 'acquire') {
            expect(!holder || holder.until <= now || holder.id === next.probeId).toBe(true);
            holder = { id: next.probeId, until: step.state.probe?.expiresAt ?? 0 };
          }
          if (next.kind === 'return' && holder?.id === next.probeId) holder = undefined;
          for (const { from, to } of step.transitions) {
            expect(from).toBe(phase);
            phase = to;
            if (to !== 'half_open') holder = undefined;
          }
          expect(step.state.phase).toBe(phase);
          state = step.state;
        }
      }),
    );
  });

  it('S3.8 a circuit is open no longer than the longest cool-down, after which one success closes it', () => {
    fc.assert(
      fc.property(history, (steps) => {
        let now = 0;
        let state: CircuitState = CLOSED_CIRCUIT;
        for (const [next, pause] of steps) state = stepCircuit(state, next, (now += pause), POLICY).state;
        const later = now + POLICY.longestCoolDownMs + POLICY.probeMs;
        expect(circuitPhase(state, later)).not.toBe('open');
        expect(stepCircuit(state, SUCCESS, later, POLICY).state).toEqual(CLOSED_CIRCUIT);
      }),
    );
  });

  it('S3.8 returns the next time at which it changes without an input', () => {
    fc.assert(
      fc.property(history, fc.nat(10_000), (steps, wait) => {
        let now = 0;
        let state: CircuitState = CLOSED_CIRCUIT;
        for (const [next, pause] of steps) state = stepCircuit(state, next, (now += pause), POLICY).state;
        const change = nextCircuitChange(state, now) ?? Infinity;
        const same = circuitPhase(state, now + wait) === circuitPhase(state, now);
        const sameSlot = probeIsFree(state, now + wait) === probeIsFree(state, now);
        expect(same && sameSlot).toBe(now + wait < change);
      }),
    );
  });
});
