import { StreamResponse } from '@a2a-js/sdk';
import type { Run, RunStatus, RunStreamEvent, StoredStep } from '#rollcall/agent-runtime';
import { TaskPath, TaskUpdates } from './task.stream.js';

describe('the updates of a task', () => {
  /** A run with only the fields that matter here. */
  const run = (state: RunStatus): Run =>
    ({
      id: 'r',
      conversationId: 'c',
      state,
      attempts: 0,
      waitingFor: null,
      stateAt: 'then',
      result: null,
      usage: {},
    }) as Run;
  const state = (name: RunStatus): RunStreamEvent => ({ type: 'state', run: run(name) });
  const piece = (text: string, afterStep = 1): RunStreamEvent => ({ type: 'text', text, afterStep });
  const step = (seq: number, type = 'model-replied'): RunStreamEvent =>
    ({ type: 'step', stored: { runId: 'r', seq, at: 'now', step: { type } } }) as RunStreamEvent;

  /** The state or the text of each event. */
  function sent(updates: TaskUpdates, events: readonly RunStreamEvent[]): string[] {
    const json = events
      .flatMap((event) => updates.of(event))
      .map((event) => JSON.stringify(StreamResponse.toJSON(event)));
    return json.map((text) => /TASK_STATE_(\w+)|"text":"(\w+)"/.exec(text)?.slice(1).find(Boolean) ?? text);
  }

  it('S3.12 a piece that arrives before the state of its run waits for that state', () => {
    const events = [piece('a'), piece('b'), state('running'), piece('c')];
    expect(sent(new TaskUpdates(run('queued')), events)).toEqual(['WORKING', 'a', 'b', 'c']);
  });

  it('S3.12 a piece that a step has replaced is not sent later', () => {
    const events = [piece('old', 1), step(2), piece('new', 2), state('running')];
    expect(sent(new TaskUpdates(run('queued')), events)).toEqual(['WORKING', 'new']);
  });

  it.each(['agent-accepted', 'authorization', 'tool-call', 'tool-result'])(
    'P-2 the step %s of an agent with its own loop replaces no piece',
    (type) => {
      const events = [piece('a'), step(2, type), piece('b'), state('running'), step(3, type), piece('c')];
      expect(sent(new TaskUpdates(run('queued')), events)).toEqual(['WORKING', 'a', 'b', 'c']);
    },
  );
});

describe('the states that subscribers receive', () => {
  /** Steps are older than the states of the runs. */
  const STEP_AT = '2026-02-24T10:00:00.000Z';

  /** A run with only the fields that matter here. */
  const run = (state: RunStatus, attempts: number): Run =>
    ({
      id: 'r',
      state,
      attempts,
      waitingFor: state === 'waiting' ? 'input' : null,
      stateAt: '2026-02-24T10:00:01.000Z',
      result: null,
    }) as Run;
  const step = (type: 'message' | 'approval-decided'): StoredStep => ({
    runId: 'r',
    seq: 2,
    at: STEP_AT,
    step: { type } as StoredStep['step'],
  });
  const states = (runs: readonly Run[]): string[] => runs.map(({ state }) => state);

  it.each<[string, Run, Run, RunStatus[]]>([
    ['the next state', run('queued', 0), run('running', 1), ['running']],
    ['no state twice when another replica continues the run', run('running', 1), run('running', 2), []],
    [
      'running before the end of a run that was queued',
      run('queued', 0),
      run('completed', 1),
      ['running', 'completed'],
    ],
    ['running before a question of a run that was queued', run('queued', 0), run('waiting', 1), ['running', 'waiting']],
    ['only the end of a run that never started', run('queued', 0), run('cancelled', 0), ['cancelled']],
    ['only the end of a run that is stopped while it waits', run('waiting', 1), run('stopped', 1), ['stopped']],
    ['queued before running after a wait', run('waiting', 1), run('running', 2), ['queued', 'running']],
    ['all states between two waits', run('waiting', 1), run('waiting', 2), ['queued', 'running', 'waiting']],
    ['all states between a wait and the end', run('waiting', 1), run('failed', 2), ['queued', 'running', 'failed']],
    ['only the end of a run that was running', run('running', 1), run('completed', 3), ['completed']],
  ])('S3.12 subscribers receive %s', (_name, before, now, expected) => {
    expect(states(new TaskPath(before).afterState(now))).toEqual(expected);
  });

  it.each<[string, RunStatus, RunStatus[]]>([
    ['of which the subscriber knows', 'waiting', ['queued']],
    ['that the subscriber has missed: it receives waiting first', 'running', ['waiting', 'queued']],
    [
      'that the subscriber has missed, and running before it: it receives both first',
      'queued',
      ['running', 'waiting', 'queued'],
    ],
  ])('S3.12 a message ends a wait %s', (_name, before, expected) => {
    const path = new TaskPath(run(before, 1));
    const after = path.afterStep(step('message'));
    expect(states(after)).toEqual(expected);
    expect(after.at(-1)?.stateAt).toBe(STEP_AT);
    expect(path.afterState(run('queued', 1))).toEqual([]);
    expect(states(path.afterState(run('completed', 2)))).toEqual(['running', 'completed']);
  });

  it('S3.12 a decision ends a wait, and a second decision before the run continues changes nothing', () => {
    const path = new TaskPath(run('running', 1));
    expect(path.afterStep(step('approval-decided'))).toMatchObject([
      { state: 'waiting', waitingFor: 'approval' },
      { state: 'queued', waitingFor: null },
    ]);
    expect(path.afterStep(step('approval-decided'))).toEqual([]);
    expect(path.current.state).toBe('queued');
  });
});
