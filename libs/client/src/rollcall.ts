import { operationsOver } from './call.js';
import {
  followEvents,
  type FollowedEvent,
  type FollowedSnapshot,
  type FollowOptions,
  isFinished,
  type WatchedMessage,
  watchRun,
  type RunWatchOptions,
} from './follow.js';
import type { Operations } from './generated/operations.js';
import type { RunsStartData, RunView } from './generated/schema.js';
import { type AgentConnection, serve, type ServedAgent, type ServeOptions } from './serve/serve.js';
import { type CallOptions, HttpTransport, type RollcallOptions } from './transport.js';

type RunInput = NonNullable<RunsStartData['body']>;

interface RunMethods {
  /** Starts a run. Iterate over it to watch it, or wait for `result()`. */
  run(input: RunInput, options?: CallOptions): StartedRun;
  /** Yields every step once, each state, and the pieces of the answer, until the run is finished. */
  watch(id: string, options?: RunWatchOptions): AsyncGenerator<WatchedMessage, void>;
}

/** A conversation: each message is a run, which begins when the runs before it are finished and knows what they said. */
export interface ClientConversation {
  readonly id: string;
  /** Sends the next message. Iterate over the run to watch it, or wait for `result()`. */
  send(input: string, options?: CallOptions): StartedRun;
}

/** A run that this client has started. */
export interface StartedRun extends AsyncIterable<WatchedMessage> {
  /** The run as it was stored. */
  readonly started: Promise<RunView>;
  /** Waits until the run is finished or waits for its caller. A failed run is a result, too: check its `state`. */
  result(): Promise<RunView>;
}

/** The API of a Rollcall server. It can be used in Node and in browsers. */
export interface Rollcall extends Omit<Operations, 'runs'> {
  readonly runs: Operations['runs'] & RunMethods;
  /** Your conversation with this id, which begins with its first message. `run` names the agent and the limits of each run. */
  conversation(id: string, run?: Omit<RunInput, 'input' | 'conversationId'>): ClientConversation;
  /** The same server with another credential, such as the lease token of an agent. */
  as(credential: RollcallOptions['credential']): Rollcall;
  /**
   * Yields every event after `after` (default: now) once, over any number of connections and replicas. If the log cannot be continued
   * from `after`, it first yields a snapshot. It throws on a rejection that a repetition does not change, such as 401, 403 and 404.
   */
  follow(options?: FollowOptions): AsyncGenerator<FollowedEvent | FollowedSnapshot, void>;
  /**
   * Serves an agent: registers it, sends heartbeats, executes its tasks with `handle`, and deregisters it when it ends. Resolves when the
   * agent is registered.
   */
  serve(options: ServeOptions): Promise<ServedAgent>;
}

/** Returns a client. No request is sent before the first call. */
export function rollcallClient(options: RollcallOptions = {}): Rollcall {
  const transport = new HttpTransport(options);
  const operations = operationsOver(transport);
  const watch: RunMethods['watch'] = (id, watchOptions = {}) => watchRun(transport, id, watchOptions);
  const run: RunMethods['run'] = (input, callOptions = {}) => {
    const started = operations.runs.start(input, callOptions);
    started.catch(() => {}); // the methods that read the run reject with this error
    return startedRun(started, (id) => watch(id, { ...(callOptions.signal && { signal: callOptions.signal }) }));
  };
  return {
    ...operations,
    runs: { ...operations.runs, run, watch },
    conversation: (id, about = {}) => ({
      id,
      send: (input, callOptions) => run({ ...about, input, conversationId: id }, callOptions),
    }),
    as: (credential) => rollcallClient({ ...options, credential }),
    follow: (followOptions = {}) => followEvents(transport, operations, followOptions),
    serve: async (serveOptions) => {
      const agents: AgentConnection['agents'] = (credential) =>
        credential === undefined
          ? operations.agents
          : operationsOver(new HttpTransport({ ...options, credential })).agents;
      return await serve({ url: transport.base, fetch: transport.fetch, agents }, serveOptions);
    },
  };
}

function startedRun(started: Promise<RunView>, watch: RunMethods['watch']): StartedRun {
  async function* messages(): AsyncGenerator<WatchedMessage, void> {
    yield* watch((await started).id);
  }
  return {
    started,
    [Symbol.asyncIterator]: messages,
    result: async () => {
      for await (const { event, data } of messages()) {
        if (event === 'state' && (isFinished(data) || data.state === 'waiting')) return data;
      }
      return await started;
    },
  };
}

/** The text of the answer of a run; empty if it has none. */
export function answerText({ result }: Pick<RunView, 'result'>): string {
  return (result?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('');
}
