import { array, assert, constantFrom, property } from 'fast-check';
import { type AgentResult, ProviderError, textPart } from '#rollcall/providers';
import {
  endOf,
  endOfDelegated,
  failureOf,
  isFinal,
  nextStatus,
  type RunChange,
  type RunStatus,
  statusesBefore,
} from './run.status.js';

const CHANGES: RunChange[] = ['claim', 'continue', 'cancel', 'waiting', 'completed', 'refused', 'stopped', 'failed'];
const usage = {};
const parts = [textPart('so far')];

describe('the state of a run', () => {
  it('B6 never changes after the run is finished, for any sequence of changes', () => {
    const check = property(array(constantFrom(...CHANGES), { maxLength: 30 }), (changes) => {
      let state: RunStatus = 'queued';
      for (const change of changes) {
        const next = nextStatus(state, change);
        if (isFinal(state)) expect(next).toBeUndefined();
        if (change === 'cancel') expect(next).toBe(isFinal(state) ? undefined : 'cancelled');
        const isEnd = next !== undefined && next !== 'cancelled' && (isFinal(next) || next === 'waiting');
        if (isEnd) expect(['running', 'waiting']).toContain(state); // only an execution or a deadline ends a run
        state = next ?? state;
      }
    });
    expect(() => assert(check)).not.toThrow();
  });

  it('B6 allows a cancellation until the run is finished, a claim while it is queued or running, and a continuation while it waits', () => {
    expect(statusesBefore('cancel')).toEqual(['queued', 'running', 'waiting']);
    expect(statusesBefore('claim')).toEqual(['queued', 'running']);
    expect(statusesBefore('continue')).toEqual(['waiting']);
  });

  const approvals = [{ callId: 'c1', tool: 'pay', input: {}, inputHash: 'h' }];
  const results: [AgentResult, string, string | null][] = [
    [{ outcome: 'completed', parts, usage }, 'completed', null],
    [{ outcome: 'refused', parts, usage }, 'refused', null],
    [{ outcome: 'input-required', parts, usage }, 'waiting', 'input'],
    [{ outcome: 'waiting', approvals, parts, usage }, 'waiting', 'approval'],
    [{ outcome: 'stopped', reason: 'budget', detail: 'x', parts, usage }, 'stopped', null],
    [{ outcome: 'stopped', reason: 'needs-review', detail: 'x', parts, usage }, 'waiting', 'needs_review'],
  ];

  it.each(results)('B6 follows from the result of the agent: %j', (result, state, waitingFor) => {
    expect(endOf(result, approvals)).toMatchObject({ state, waitingFor, result: { parts } });
    expect(endOfDelegated(result).state).toBe(state === 'waiting' ? 'stopped' : state);
  });

  it('B6 a failed run has the code of its error, and only errors with a code have a public message', () => {
    const known = failureOf(new ProviderError('AGENT_CLOSED', 'It is closed.'));
    expect(known.result.error).toEqual({ code: 'AGENT_CLOSED', message: 'It is closed.' });
    expect(failureOf(new Error('secret')).result.error).toMatchObject({ code: 'AGENT_FAILED_INTERNALLY' });
    expect(JSON.stringify(failureOf(new Error('secret')))).not.toContain('secret');
  });
});
