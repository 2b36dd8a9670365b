import { textOfParts } from '#rollcall/providers';
import type { RunOutcome } from '../loop/run.outcome.js';
import { type OutputCheck, rejected, type Rejection, type Replacement } from './guardrail.js';
import type { RunCall, RunEvents, RunMiddleware, RunNext } from './middleware.js';

/**
 * Checks the text of every outcome, including a question, a refusal and a partial answer. A rejected text ends the run with the
 * outcome `stopped` and the reason `guardrail`. The answer is not streamed: the reader receives the text after the check, in one piece.
 */
export function outputGuardrail(check: OutputCheck): RunMiddleware {
  return { name: 'outputGuardrail', run: (call, next) => checked(call, next, check) };
}

async function* checked(call: RunCall, next: RunNext, check: OutputCheck): RunEvents {
  const outcome = yield* next(call.streams ? { ...call, streams: false } : call);
  if (outcome.type === 'waiting') return outcome;
  await call.writer?.commit(); // the check may take long, and a crash must not lose the reply
  const verdict = await check(textOfParts(outcome.parts), call.context, outcome);
  const approved = verdict ? applied(outcome, verdict) : outcome;
  const text = textOfParts(approved.parts);
  if (call.streams && text !== '') yield { type: 'text', text };
  return approved;
}

type WithParts = Exclude<RunOutcome, { type: 'waiting' }>;

function applied(outcome: WithParts, verdict: Rejection | Replacement): WithParts {
  if ('reject' in verdict) return rejected('answer', verdict) as WithParts;
  const others = outcome.parts.filter(({ type }) => type !== 'text');
  return { ...outcome, parts: [{ type: 'text', text: verdict.replace }, ...others] };
}
