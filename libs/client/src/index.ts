/** The entry point `rollcall/client`, which is also the package `rollcall-client`: the client of the API, for Node and for browsers. */
export { rollcallClient, answerText, type ClientConversation, type Rollcall, type StartedRun } from './rollcall.js';
export { RollcallError, type RollcallErrorCode } from './rollcall.error.js';
export { Pages } from './pages.js';
export {
  type EventName,
  eventName,
  isFinished,
  type FollowedEvent,
  type FollowedSnapshot,
  type FollowOptions,
  type WatchedMessage,
  type RunWatchOptions,
} from './follow.js';
export type { ServedAgent, ServeOptions } from './serve/serve.js';
export type { EndReason } from './serve/agent.lease.js';
export type { Task, TaskHandler, TaskResult } from './serve/task.js';
export type { CallOptions, ConditionalCallOptions, RollcallOptions } from './transport.js';
export type { Operations } from './generated/operations.js';
export type * from './generated/schema.js';
