import { TaskState } from '@a2a-js/sdk';
import { a2aClient, BINDINGS, collect, messageTo, send, textOf } from '../support/a2a-client.js';
import { startApi, type TestApi } from '../support/api.js';

let api: TestApi;
let other: TestApi;
let key: string;
let stranger: string;
beforeAll(async () => {
  api = await startApi();
  other = await api.replica({ ROLLCALL_RUNS_MAX: '0' });
  key = await api.given.key('caller');
  stranger = await api.given.key('caller');
  const content = { description: 'Echoes.', instructions: 'Echo.', capabilities: ['text.echo'] };
  await api.call('POST', '/v1/definitions', { body: { name: 'echo', content } });
});
afterAll(async () => {
  await other.stop();
  await api.stop();
});

const agentUrl = (id: string, on: TestApi = api): string => `${on.url}/a2a/agents/${id}`;

describe.each(BINDINGS)('A2A over %s', (binding) => {
  it('a message runs the agent, and the response is the finished task', async () => {
    const client = await a2aClient(agentUrl('echo'), key, binding);
    const task = await send(client, messageTo('Hello.', { contextId: 'talk-1' }));
    expect({ state: task.status?.state, contextId: task.contextId, text: textOf(task) }).toEqual({
      state: TaskState.TASK_STATE_COMPLETED,
      contextId: 'talk-1',
      text: 'You said: Hello.',
    });
    const again = await client.getTask({ tenant: '', id: task.id });
    expect(again).toEqual(task);
  });

  it('a stream begins with the task and ends with its last state', async () => {
    const client = await a2aClient(agentUrl('echo', other), key, binding);
    const events = await collect(client.sendMessageStream(messageTo('Hello.')));
    expect(events[0]?.payload?.$case).toBe('task');
    console.log(JSON.stringify(events, null, 1));
  });
});
