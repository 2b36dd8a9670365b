import type { ModelUsage } from '../../models/usage.js';

export interface ScenarioCall {
  id: string;
  name: string;
  input: Record<string, unknown>;
}

/** What a vendor is made to do, in our words; each wire says it in its own. */
export type Scenario =
  | { does: 'say'; pieces: string[]; usage: ModelUsage }
  | { does: 'call'; calls: ScenarioCall[]; usage: ModelUsage }
  | { does: 'refuse'; pieces: string[]; usage: ModelUsage }
  | { does: 'run out of tokens'; pieces: string[]; usage: ModelUsage }
  | { does: 'fail'; status: number; headers?: Record<string, string> }
  /** Starts an answer, then drops the connection. */
  | { does: 'drop'; pieces: string[] }
  /** Starts an answer and ends it politely, but without its end. */
  | { does: 'stop short'; pieces: string[] }
  /** Starts an answer and never goes on. */
  | { does: 'hang'; pieces: string[] };

export type Answered = Extract<Scenario, { usage: ModelUsage }>;
export type Unfinished = Extract<Scenario, { does: 'drop' | 'stop short' | 'hang' }>;

/** How one vendor writes things down. */
export interface Wire {
  /** Where its requests go. */
  path: string;
  keyOf(headers: Record<string, string | string[] | undefined>): string;
  reply(scenario: Answered, model: string): object;
  /** The frames of a stream, up to where the scenario leaves off. */
  frames(scenario: Answered | Unfinished, model: string): object[];
  failure(status: number, message: string): object;
  /** Whether each frame is preceded by a line with its type. */
  namesEvents: boolean;
  /** What a finished stream ends with. */
  terminator?: string;
}

export function isAnswered(scenario: Scenario): scenario is Answered {
  return 'usage' in scenario;
}
