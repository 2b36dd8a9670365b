import { StreamResponse } from '@a2a-js/sdk';
import type { AgentEvent } from '../agent.js';
import { type ContentPart, textPart } from '../content.part.js';
import { RUN_EXTENSION, TaskReader } from './task.reader.js';

/** Reads the responses of a stream. */
function eventsOf(responses: object[], options?: ConstructorParameters<typeof TaskReader>[1]): AgentEvent[] {
  const reader = new TaskReader('Agent ada', options);
  return responses.flatMap((response) => [...reader.read(StreamResponse.fromJSON(response))]);
}

describe('S1.10 the reader of an A2A task', () => {
  it('yields only the new chunks of a repeated artifact, and also yields its text as text events', () => {
    const chunk = (parts: object[], append: boolean, lastChunk = false): object => ({
      artifactUpdate: {
        taskId: 't',
        contextId: 'c',
        artifact: { artifactId: 'a', name: 'n', parts },
        append,
        lastChunk,
      },
    });
    const [one, two] = [{ text: 'One' }, { data: 2 }];
    const events = eventsOf([
      chunk([one], false),
      chunk([one, two], false), // adds a part
      chunk([one, two], false), // adds nothing
      chunk([{ text: 'Other' }], false), // replaces the artifact
      chunk([], true, true), // completes the artifact
      { statusUpdate: { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } } },
    ]);
    const event = (parts: ContentPart[], append: boolean, last = false): AgentEvent => ({
      type: 'artifact',
      artifact: { id: 'a', name: 'n', parts, append, last },
    });
    expect(events).toEqual([
      { type: 'text', text: 'One', artifactId: 'a' },
      event([textPart('One')], false),
      event([{ type: 'data', data: 2 }], true),
      { type: 'text', text: 'Other', artifactId: 'a' },
      event([textPart('Other')], false),
      event([], true, true),
      {
        type: 'finished',
        result: { outcome: 'completed', parts: [textPart('Other')], usage: {}, conversationId: 'c' },
      },
    ]);
  });

  it.each([
    ['TASK_STATE_COMPLETED', [textPart('artifact'), { type: 'data', data: 1 }, { type: 'data', data: 2 }]],
    ['TASK_STATE_INPUT_REQUIRED', [textPart('status'), { type: 'data', data: 2 }, { type: 'data', data: 1 }]],
    ['TASK_STATE_REJECTED', [textPart('status'), { type: 'data', data: 2 }, { type: 'data', data: 1 }]],
  ])('combines the parts of artifacts and of the status: %s', (state, parts) => {
    const statusMessage = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'status' }, { data: 2 }] };
    const artifacts = [{ artifactId: 'a', parts: [{ text: 'artifact' }, { data: 1 }] }];
    const events = eventsOf([
      { task: { id: 't', contextId: 'c', status: { state, message: statusMessage }, artifacts } },
    ]);
    expect(events.at(-1)).toMatchObject({ result: { parts } });
  });

  it('rejects an event of another task', () => {
    const begun = { task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } };
    const status = { state: 'TASK_STATE_COMPLETED' };
    const artifact = { artifactId: 'a', parts: [{ text: 'For another caller' }] };
    const foreign = [
      { task: { id: 'other', contextId: 'c', status, artifacts: [artifact] } },
      { statusUpdate: { taskId: 'other', contextId: 'c', status } },
      { artifactUpdate: { taskId: 'other', contextId: 'c', artifact } },
    ];
    for (const event of foreign) expect(() => eventsOf([begun, event])).toThrow('sent an event of another task');
  });

  it('returns the message of an agent that creates no task, with its data and files', () => {
    const parts = [{ text: 'Hi' }, { data: { a: 1 } }, { raw: 'AAEC', mediaType: 'image/png', filename: 'a.png' }];
    const events = eventsOf([{ message: { messageId: 'm', contextId: 'c', role: 'ROLE_AGENT', parts } }]);
    const file = { type: 'file', bytes: 'AAEC', mediaType: 'image/png', name: 'a.png' };
    const all = [textPart('Hi'), { type: 'data', data: { a: 1 } }, file];
    expect(events).toEqual([
      { type: 'text', text: 'Hi' },
      { type: 'finished', result: { outcome: 'completed', parts: all, usage: {}, conversationId: 'c' } },
    ]);
  });

  it('returns a failed task as stopped if its metadata contains the limit, and uses the status as the default detail', () => {
    const status = {
      state: 'TASK_STATE_FAILED',
      message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'Too long.' }] },
    };
    const metadata = { stopped: { reason: 'iterations' }, usage: { inputTokens: 5 } };
    const update = { taskId: 't', contextId: 'c', status };
    expect(eventsOf([{ statusUpdate: { ...update, metadata } }])).toEqual([
      {
        type: 'finished',
        result: {
          outcome: 'stopped',
          reason: 'iterations',
          detail: 'Too long.',
          parts: [],
          usage: { inputTokens: 5 },
          conversationId: 'c',
        },
      },
    ]);
    const invalid = { ...update, metadata: { stopped: 'yes' } };
    expect(() => eventsOf([{ statusUpdate: invalid }])).toThrow('failed: Too long.');
  });

  it('R-2 reads the limit and the usage of the run of a Rollcall, without the usage of earlier messages of the task', () => {
    const run = (facts: object): object => ({
      statusUpdate: {
        taskId: 't',
        contextId: 'c',
        status: {
          state: 'TASK_STATE_FAILED',
          message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'Late.' }] },
        },
        metadata: {
          [RUN_EXTENSION]: { agentId: 'a', usage: { inputTokens: 50, outputTokens: 7, costMicroUsd: 9 }, ...facts },
        },
      },
    });
    const stopped = run({ state: 'stopped', reason: 'turns' });
    const result = { outcome: 'stopped', reason: 'turns', detail: 'Late.' };
    const first = { inputTokens: 50, outputTokens: 7, costMicroUsd: 9 };
    expect(eventsOf([stopped])).toMatchObject([{ result: { ...result, usage: first } }]);
    const second = { inputTokens: 20, outputTokens: 0, costMicroUsd: 9 };
    const usedBefore = { inputTokens: 30, outputTokens: 8 };
    expect(eventsOf([stopped], { continued: 't', usedBefore })).toMatchObject([
      { result: { ...result, usage: second } },
    ]);
    expect(() => eventsOf([run({ state: 'failed', error: { code: 'X' } })])).toThrow('failed: Late.');
  });
});
