import type { ModelMessage } from '#rollcall/providers';
import { type InputCheck, rejected } from './guardrail.js';
import type { RunCall, RunEvents, RunMiddleware, RunNext } from './middleware.js';

/**
 * Checks the message of the user before the first model call. A rejected message ends the run with the outcome `stopped` and the
 * reason `guardrail`. A run that is resumed after its first reply has no new message, so nothing is checked.
 */
export function inputGuardrail(check: InputCheck): RunMiddleware {
  return { name: 'inputGuardrail', run: (call, next) => checked(call, next, check) };
}

async function* checked(call: RunCall, next: RunNext, check: InputCheck): RunEvents {
  const text = textOfUser(call.state.messages.at(-1));
  const verdict = text === undefined ? undefined : await check(text, call.context);
  return verdict ? rejected('input', verdict) : yield* next(call);
}

function textOfUser(message: ModelMessage | undefined): string | undefined {
  if (message?.role !== 'user') return undefined;
  return message.content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
}
