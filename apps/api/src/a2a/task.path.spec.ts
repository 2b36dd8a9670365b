import type { Run, RunStatus, StoredStep } from '#rollcall/agent-runtime';
import { TaskPath } from './task.path.js';

/** Only these fields decide. */
const run = (state: RunStatus, attempts: number): Run =>
  ({
    id: 'r',
    state,
    attempts,
    waitingFor: state === 'waiting' ? 'input' : null,
    stateAt: 'then',
    result: null,
  }) as Run;
const step = (type: 'message' | 'approval-decided'): StoredStep => ({
  runId: 'r',
  seq: 2,
  at: 'now',
  step: { type } as StoredStep['step'],
});
const states = (runs: readonly Run[]): string[] => runs.map(({ state }) => state);

describe('the states that subscribers receive', () => {
  it.each<[string, Run, Run, RunStatus[]]>([
    ['the next one', run('queued', 0), run('running', 1), ['running']],
    ['the same one on another replica', run('running', 1), run('running', 2), []],
    ['the work before the end', run('queued', 0), run('completed', 1), ['running', 'completed']],
    ['the work before a question', run('queued', 0), run('waiting', 1), ['running', 'waiting']],
    ['an end without work', run('queued', 0), run('cancelled', 0), ['cancelled']],
    ['an end while it waits', run('waiting', 1), run('stopped', 1), ['stopped']],
    ['the queue before the work', run('waiting', 1), run('running', 2), ['queued', 'running']],
    ['all between two waits', run('waiting', 1), run('waiting', 2), ['queued', 'running', 'waiting']],
    ['all between a wait and the end', run('waiting', 1), run('failed', 2), ['queued', 'running', 'failed']],
    ['the end of the work', run('running', 1), run('completed', 3), ['completed']],
  ])('S3.12 %s', (_name, before, now, expected) => {
    expect(states(new TaskPath(before).afterState(now))).toEqual(expected);
  });

  it.each<[string, RunStatus, RunStatus[]]>([
    ['that was seen', 'waiting', ['queued']],
    ['that was not seen', 'running', ['waiting', 'queued']],
    ['that was not seen, nor the work before it', 'queued', ['running', 'waiting', 'queued']],
  ])('S3.12 a message ends a wait %s', (_name, before, expected) => {
    const path = new TaskPath(run(before, 1));
    const after = path.afterStep(step('message'));
    expect(states(after)).toEqual(expected);
    expect(after.at(-1)?.stateAt).toBe('now');
    expect(path.afterState(run('queued', 1))).toEqual([]);
    expect(states(path.afterState(run('completed', 2)))).toEqual(['running', 'completed']);
  });

  it('S3.12 a decision ends a wait, and a second decision before the work changes nothing', () => {
    const path = new TaskPath(run('running', 1));
    expect(path.afterStep(step('approval-decided'))).toMatchObject([
      { state: 'waiting', waitingFor: 'approval' },
      { state: 'queued', waitingFor: null },
    ]);
    expect(path.afterStep(step('approval-decided'))).toEqual([]);
    expect(path.current.state).toBe('queued');
  });
});
