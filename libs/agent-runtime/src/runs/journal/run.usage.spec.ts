import { isRepeated, stepOf } from '../run.decision.js';
import type { RunStep } from '../run.step.js';
import { chargedUsage, sumOf } from './run.usage.js';

describe('the usage of a run', () => {
  it('B6 is the sum of what its steps report, and a count or a cost that one step does not report is unknown', () => {
    const priced = { usage: { inputTokens: 10, outputTokens: 5 }, charges: [{ key: '1/1', tokens: 15, microUsd: 7 }] };
    const free = { usage: { inputTokens: 3 }, charges: [{ key: '2/1', tokens: 9, microUsd: null }] };
    expect(sumOf([])).toEqual({});
    expect(sumOf([priced, priced])).toEqual({ inputTokens: 20, outputTokens: 10, costMicroUsd: 14 });
    expect(sumOf([priced, free])).toEqual({ inputTokens: 13 });
    const estimated = { usage: {}, charges: [{ key: '3/1', tokens: 90, microUsd: 40, estimated: true as const }] };
    expect(sumOf([priced, estimated])).toEqual({});
  });

  it('B6 contains what was charged for calls without a reported usage', () => {
    const usage = { inputTokens: 10, outputTokens: 5, costMicroUsd: 7 };
    expect(chargedUsage(usage, { tokens: 15, microUsd: 7 })).toEqual(usage);
    const aborted = chargedUsage(usage, { tokens: 115, microUsd: 70 });
    expect(aborted).toEqual({ ...usage, estimatedTokens: 100, costMicroUsd: 70 });
  });
});

describe('a decision about a call', () => {
  it('B6 has an output only if the call was interrupted', () => {
    const call = { callId: 'c', tool: 'pay', input: {}, inputHash: 'h' };
    const result = { parts: [], approvals: [call] };
    const decision = { callId: 'c', inputHash: 'h', approved: true, output: 'paid' };
    const of = (waitingFor: 'approval' | 'needs_review'): unknown =>
      stepOf({ id: 'r', state: 'waiting', waitingFor, result }, decision, { mayManage: true });
    expect(of('needs_review')).toMatchObject({ runId: 'r', step: { type: 'tool-finished', output: 'paid' } });
    expect(() => of('approval')).toThrow('The call has not been executed, so it has no output.');
  });

  it('B6 is a repetition if it equals the recorded decision, and is rejected if it contradicts the recorded decision', () => {
    const decision = { callId: 'c', inputHash: 'h', approved: true };
    const decided: RunStep = { type: 'approval-decided', ...decision };
    expect(isRepeated(decided, { ...decision, reason: 'again' })).toBe(true);
    expect(isRepeated(undefined, decision)).toBe(false);
    for (const other of [{ approved: false }, { output: 'paid' }])
      expect(() => isRepeated(decided, { ...decision, ...other })).toThrow('Another decision about this call');
    const finished: RunStep = { type: 'tool-finished', turn: 0, callId: 'c', name: 'pay', output: 'paid' };
    expect(isRepeated(finished, { ...decision, output: 'paid' })).toBe(true);
    expect(() => isRepeated(finished, { ...decision, output: 'not paid' })).toThrow('Another decision about this call');
  });
});
