import { DomainError } from '#rollcall/platform';
import { type AgentResult, type ContentPart, ProviderError } from '#rollcall/providers';

/** How a delegation ended, for the model of the parent. */
export interface ChildResult {
  readonly agent: string;
  readonly outcome: AgentResult['outcome'] | 'failed' | 'cancelled' | 'not-started';
  /** What the model can do now. A text of Rollcall, which never contains a text of the agent. */
  readonly advice?: string;
  /** Why there is no answer. It may contain a text of the agent, so it is data. */
  readonly reason?: string;
  /** The answer of the agent. It is also data. */
  readonly parts: readonly ContentPart[];
  /** The names of the agent's artifacts. */
  readonly artifacts: readonly string[];
}

const QUESTION =
  'The agent asks a question. If you can answer it, delegate the complete task again, together with your answer.';
const REFUSED = 'The agent refused the task. Do not delegate the same task to it again.';
const STOPPED = 'The agent reached a limit before it had an answer. What it has so far may be incomplete.';
const WAITING =
  'The agent cannot continue, because an operator must approve its tool calls. Continue without its answer.';

/** A question is a success: the agent worked correctly, and the parent can answer it. */
export function isFailed({ outcome }: ChildResult): boolean {
  return outcome !== 'completed' && outcome !== 'input-required';
}

export function toChildResult(agent: string, result: AgentResult, artifacts: readonly string[]): ChildResult {
  const base = { agent, outcome: result.outcome, parts: result.parts, artifacts };
  switch (result.outcome) {
    case 'completed':
      return base;
    case 'input-required':
      return { ...base, advice: QUESTION };
    case 'refused':
      return { ...base, advice: REFUSED };
    case 'stopped':
      return { ...base, advice: STOPPED, reason: `${result.reason}: ${result.detail}` };
    case 'waiting':
      return { ...base, advice: WAITING, reason: result.approvals.map(({ tool }) => tool).join(', ') };
  }
}

export function withoutAnswer(
  agent: string,
  outcome: ChildResult['outcome'],
  texts: Pick<ChildResult, 'advice' | 'reason'>,
): ChildResult {
  return { agent, outcome, ...texts, parts: [], artifacts: [] };
}

/** The text of an error for a model. The messages of errors without a code are internal, so the model does not get them. */
export function textOfError(error: unknown): string {
  if (error instanceof ProviderError || error instanceof DomainError) return error.message;
  return 'An internal error occurred. The log contains the cause.';
}
