import type { OpenAPIObject } from '@nestjs/swagger';

type Json = Readonly<Record<string, unknown>>;

/** The schemas of OpenAPI 3.0, which AsyncAPI names by this media type. */
const FORMAT = 'application/vnd.oai.openapi;version=3.0.0';
const SCHEMAS = '#/components/schemas/';

const text = (description: string): Json => ({ type: 'string', description });
const count = (description: string): Json => ({ type: 'integer', description });
const texts = (description: string): Json => ({ type: 'array', items: { type: 'string' }, description });
const ref = (name: string): Json => ({ $ref: `${SCHEMAS}${name}` });
const fields = (properties: Json, required: readonly string[] = []): Json => ({
  type: 'object',
  properties,
  ...(required.length > 0 && { required }),
});

interface Frame {
  /** Who sends it. */
  readonly from: 'client' | 'server';
  readonly about: string;
  readonly data?: Json;
  /** Fields beside `data`. */
  readonly more?: Json;
}

const RUN_ID = { runId: text('The id of the run.') };
const CALL = { callId: text('The id of the task.') };

/** The frames of `/v1/events/ws`, by their `event`. */
const EVENT_FRAMES: Readonly<Record<string, Frame>> = {
  subscribe: {
    from: 'client',
    about: 'Begins a subscription. A second one replaces the first.',
    data: fields({
      after: text('A cursor, a sequence, `oldest` or `latest` (the default).'),
      types: texts('Names of events, or families such as `agent.*`.'),
      agentIds: texts('Only events about these agents.'),
      capabilities: texts('Only events about agents with one of these capabilities.'),
      window: count('No further batch is sent while this many events are not acknowledged.'),
    }),
  },
  ack: {
    from: 'client',
    about: 'You have processed all events up to this one.',
    data: fields({ sequence: text('The sequence.') }, ['sequence']),
  },
  'subscribe-run': {
    from: 'client',
    about: 'Follows a run.',
    data: fields({ ...RUN_ID, afterStep: count('Only steps after this one.') }, ['runId']),
  },
  'unsubscribe-run': { from: 'client', about: 'Ends the subscription of a run.', data: fields(RUN_ID, ['runId']) },
  subscribed: {
    from: 'server',
    about: 'The subscription has begun.',
    data: fields({ after: text('The position where it starts.') }),
  },
  events: {
    from: 'server',
    about: 'Events in the order of the log.',
    data: { type: 'array', items: ref('CloudEventView') },
    more: { cursor: text('The cursor after them.') },
  },
  position: {
    from: 'server',
    about: 'There was no (further) matching event up to here. Sent every 15 seconds.',
    data: fields({ sequence: text('The sequence.'), cursor: text('The cursor to store.') }),
  },
  'run-subscribed': {
    from: 'server',
    about: 'The subscription of a run has begun.',
    data: fields({ ...RUN_ID, afterStep: count('The step.') }),
  },
  'run-unsubscribed': { from: 'server', about: 'The subscription of a run has ended.', data: fields(RUN_ID) },
  run: {
    from: 'server',
    about: 'A step, a state, or a piece of the answer of a run.',
    data: fields(
      { ...RUN_ID, type: text('As `event` in the stream of the run.'), data: { description: 'As `data` there.' } },
      ['runId', 'type', 'data'],
    ),
  },
  error: { from: 'server', about: 'The problem with a frame.', data: ref('Problem') },
  end: { from: 'server', about: 'Why the server closes the socket.', data: ref('StreamEnd') },
};

/** The frames of `/v1/agents/ws`, by their `event`. */
const AGENT_FRAMES: Readonly<Record<string, Frame>> = {
  beat: {
    from: 'client',
    about: 'A heartbeat.',
    data: fields({
      inFlight: count('Tasks in progress.'),
      latencyMs: count('The duration of a task.'),
      usedTokens: count('Tokens.'),
    }),
  },
  work: {
    from: 'client',
    about: 'Offers slots for tasks.',
    data: fields({ slots: count('How many tasks are wanted.'), holding: texts('The tasks in progress.') }),
  },
  progress: {
    from: 'client',
    about: 'What the agent does for a task.',
    data: fields({ ...CALL, text: text('For people.') }, ['callId']),
  },
  result: {
    from: 'client',
    about: 'The result of a task.',
    data: fields({ ...CALL, text: text('The answer.') }, ['callId']),
  },
  welcome: {
    from: 'server',
    about: 'The socket is open.',
    data: fields({
      agentId: text('The agent.'),
      generation: count('Its registration.'),
      desiredState: text('What an operator has requested.'),
    }),
  },
  beaten: {
    from: 'server',
    about: 'A heartbeat was stored.',
    data: fields({ beatAt: text('When.'), nextIntervalMs: count('Send the next one after this time.') }),
  },
  task: {
    from: 'server',
    about: 'A task for one of the offered slots.',
    data: fields({ ...CALL, text: text('What to do.') }, ['callId']),
  },
  reported: {
    from: 'server',
    about: 'The result of a task was stored.',
    data: fields({ ...CALL, state: text('`finished`.') }),
  },
  control: {
    from: 'server',
    about: 'An action of an operator, a contract, or the end of the registration.',
    data: fields({ action: text('What to do.') }, ['action']),
  },
  error: { from: 'server', about: 'The problem with a frame.', data: ref('Problem') },
  end: { from: 'server', about: 'Why the server closes the socket.', data: ref('StreamEnd') },
};

const ABOUT =
  'The WebSockets and streams of server-sent events of Rollcall. The requests are in /openapi.json. Guides: docs/events.md, docs/agents.md and docs/runs.md.';

/** The AsyncAPI document: what is sent over WebSockets and server-sent events. The schemas are those of the OpenAPI document. */
export function describeStreams(api: OpenAPIObject): Json {
  const channels = {
    events: socket('/v1/events/ws', 'Events and runs over a WebSocket.', EVENT_FRAMES),
    agent: socket(
      '/v1/agents/ws',
      'Heartbeats, tasks and actions of operators for one agent over a WebSocket.',
      AGENT_FRAMES,
    ),
    eventStream: stream('/v1/events/stream', 'Events as server-sent events.', 'EventStreamMessage'),
    runStream: stream(
      '/v1/runs/{id}/stream',
      'The steps and the answer of a run as server-sent events.',
      'RunStreamMessage',
    ),
  };
  const { title, version, license } = api.info;
  const described = Object.entries(channels).map(([name, { from: _from, ...channel }]) => [name, channel] as const);
  const document = {
    asyncapi: '3.0.0',
    info: { title: `${title}: streams and WebSockets`, version, description: ABOUT, license },
    defaultContentType: 'application/json',
    channels: Object.fromEntries(described),
    operations: Object.fromEntries(Object.entries(channels).flatMap(([name, channel]) => operationsOf(name, channel))),
  };
  const schemas = api.components?.schemas ?? {};
  return { ...document, components: { schemas: reachable(document, schemas) } };
}

interface Channel {
  readonly address: string;
  readonly description: string;
  readonly parameters?: Json;
  readonly bindings?: Json;
  readonly messages: Readonly<Record<string, Json>>;
  /** Who sends each message. */
  readonly from: Readonly<Record<string, Frame['from']>>;
}

function socket(address: string, description: string, frames: Readonly<Record<string, Frame>>): Channel {
  const entries = Object.entries(frames);
  const messages = entries.map(([event, { about, data, more }]) => {
    const properties = { event: { type: 'string', enum: [event] }, ...(data && { data }), ...more };
    return [event, { name: event, summary: about, payload: payload(fields(properties, ['event'])) }] as const;
  });
  return {
    address,
    description,
    bindings: { ws: { method: 'GET' } },
    messages: Object.fromEntries(messages),
    from: Object.fromEntries(entries.map(([event, { from }]) => [event, from])),
  };
}

function stream(address: string, description: string, schema: string): Channel {
  const isOfRun = address.includes('{id}');
  return {
    address,
    description,
    ...(isOfRun && { parameters: { id: { description: 'The id of the run.' } } }),
    messages: { message: { name: 'message', contentType: 'text/event-stream', payload: payload(ref(schema)) } },
    from: { message: 'server' },
  };
}

function payload(schema: Json): Json {
  return { schemaFormat: FORMAT, schema };
}

/** In AsyncAPI, the operations are those of the server: it sends what clients receive. */
function operationsOf(name: string, { messages, from }: Channel): [string, Json][] {
  return (['client', 'server'] as const).flatMap((sender): [string, Json][] => {
    const sent = Object.keys(messages).filter((message) => from[message] === sender);
    if (sent.length === 0) return [];
    const action = sender === 'server' ? 'send' : 'receive';
    const list = sent.map((message) => ({ $ref: `#/channels/${name}/messages/${message}` }));
    return [[`${name}.${action}`, { action, channel: { $ref: `#/channels/${name}` }, messages: list }]];
  });
}

/** The schemas that the document refers to, directly or through other schemas. */
function reachable(document: Json, all: Json): Json {
  const found = new Map<string, unknown>();
  const visit = (node: unknown): void => {
    if (typeof node === 'string') {
      const name = node.startsWith(SCHEMAS) ? node.slice(SCHEMAS.length) : '';
      if (found.has(name) || all[name] === undefined) return;
      found.set(name, all[name]);
      visit(all[name]);
    } else if (typeof node === 'object' && node !== null) Object.values(node).forEach(visit);
  };
  visit(document);
  return Object.fromEntries([...found].toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
