import { type ModelMessage, textOfParts } from '#rollcall/providers';
import type { RunContext } from '../loop/run.context.js';
import type { RunOutcome } from '../loop/run.outcome.js';
import type { LoopEvents, RunCall, RunMiddleware, RunNext } from './middleware.js';

/** The reason of a rejection. It is shown to the caller. */
interface Rejection {
  readonly reject: string;
}

/** A text that replaces the text of the answer. */
interface Replacement {
  readonly replace: string;
}

/** Returns undefined to accept the input or the answer. If a check throws an error, the run ends with that error. */
export type InputCheck = (text: string, context: RunContext) => Verdict<Rejection>;
/** Accepts, rejects or replaces the answer of a run. The text is that of all its parts. */
export type OutputCheck = (text: string, context: RunContext, outcome: RunOutcome) => Verdict<Rejection | Replacement>;
type Verdict<Value> = Value | undefined | Promise<Value | undefined>;

/**
 * Checks the message of the user before the first model call. A rejected message ends the run with the outcome `stopped` and the
 * reason `guardrail`. A run that is resumed after its first reply has no new message, so nothing is checked.
 */
export function inputGuardrail(check: InputCheck): RunMiddleware {
  return { name: 'inputGuardrail', run: (call, next) => withCheckedInput(call, next, check) };
}

async function* withCheckedInput(call: RunCall, next: RunNext, check: InputCheck): LoopEvents {
  const text = textOfUser(call.state.messages.at(-1));
  const verdict = text === undefined ? undefined : await check(text, call.context);
  return verdict ? rejected('input', verdict) : yield* next(call);
}

function textOfUser(message: ModelMessage | undefined): string | undefined {
  if (message?.role !== 'user') return undefined;
  return message.content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
}

/**
 * Checks the text of every outcome, including a question, a refusal and a partial answer. A rejected text ends the run with the
 * outcome `stopped` and the reason `guardrail`. The answer is not streamed: the reader receives the text after the check, in one piece.
 */
export function outputGuardrail(check: OutputCheck): RunMiddleware {
  return { name: 'outputGuardrail', run: (call, next) => withCheckedOutput(call, next, check) };
}

async function* withCheckedOutput(call: RunCall, next: RunNext, check: OutputCheck): LoopEvents {
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

function rejected(what: 'input' | 'answer', { reject }: Rejection): RunOutcome {
  return { type: 'stopped', reason: 'guardrail', detail: `A guardrail rejected the ${what}: ${reject}`, parts: [] };
}
