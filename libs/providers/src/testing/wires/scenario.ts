import type { ModelUsage } from '../../models/model.provider.js';

export interface ScenarioCall {
  id: string;
  name: string;
  input: Record<string, unknown>;
}

/** What a fake vendor does. Each wire converts it to the format of its vendor. */
export type Scenario =
  | { does: 'say'; pieces: string[]; usage: ModelUsage }
  | { does: 'call'; calls: ScenarioCall[]; usage: ModelUsage }
  | { does: 'refuse'; pieces: string[]; usage: ModelUsage }
  | { does: 'run out of tokens'; pieces: string[]; usage: ModelUsage }
  | { does: 'fail'; status: number; headers?: Record<string, string> }
  /** Starts a response, and then closes the connection abruptly. */
  | { does: 'drop'; pieces: string[] }
  /** Starts a response and ends the stream normally, but before the response is complete. */
  | { does: 'stop short'; pieces: string[] }
  /** Starts a response and never ends it. */
  | { does: 'hang'; pieces: string[] };

export type Answered = Extract<Scenario, { usage: ModelUsage }>;
export type Unfinished = Extract<Scenario, { does: 'drop' | 'stop short' | 'hang' }>;

/** The wire format of one vendor. */
export interface Wire {
  /** The path of its requests, without the query. */
  path: string;
  /** What a request asks for, if its path names the model; undefined if the path is wrong. */
  requestOf?(path: string): { model: string; stream: boolean } | undefined;
  /** The media type of a stream, and the bytes of one frame, if it does not consist of server-sent events. */
  readonly binary?: { readonly type: string; encode(frame: object): Uint8Array };
  keyOf(headers: Record<string, string | string[] | undefined>): string;
  reply(scenario: Answered, model: string): object;
  /** The frames of a stream, until the scenario stops it. */
  frames(scenario: Answered | Unfinished, model: string): object[];
  failure(status: number, message: string): object;
  /** Whether a line with the event type precedes each frame. */
  namesEvents: boolean;
  /** The last frame of a complete stream. */
  terminator?: string;
}

export function isAnswered(scenario: Scenario): scenario is Answered {
  return 'usage' in scenario;
}
