import { StreamResponse } from '@a2a-js/sdk';
import type { Run, RunStatus, RunStreamEvent } from '#rollcall/agent-runtime';
import { TaskUpdates } from './task.stream.js';

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
const step = (seq: number): RunStreamEvent =>
  ({ type: 'step', stored: { runId: 'r', seq, at: 'now', step: { type: 'model-replied' } } }) as RunStreamEvent;

/** The state or the text of each event. */
function sent(updates: TaskUpdates, events: readonly RunStreamEvent[]): string[] {
  const json = events
    .flatMap((event) => updates.of(event))
    .map((event) => JSON.stringify(StreamResponse.toJSON(event)));
  return json.map((text) => /TASK_STATE_(\w+)|"text":"(\w+)"/.exec(text)?.slice(1).find(Boolean) ?? text);
}

describe('the updates of a task', () => {
  it('S3.12 a piece that arrives before the state of its run waits for that state', () => {
    const events = [piece('a'), piece('b'), state('running'), piece('c')];
    expect(sent(new TaskUpdates(run('queued')), events)).toEqual(['WORKING', 'a', 'b', 'c']);
  });

  it('S3.12 a piece that a step has replaced is not sent later', () => {
    const events = [piece('old', 1), step(2), piece('new', 2), state('running')];
    expect(sent(new TaskUpdates(run('queued')), events)).toEqual(['WORKING', 'new']);
  });
});
