import type { ModelProvider, ModelRequest } from '#rollcall/providers';
import { callTool, say, ScriptedModel } from '#rollcall/providers/testing';

const STEP_MS = 250;
/** The replies before and after the question. */
const READS = 6;

export const QUESTION = 'Which branch?';
export const ANSWER = 'main';
/** What the task answers at its end. */
export const RESULT = 'The clock was read on the branch that was named.';

/** Reads the clock, asks the caller one question, reads the clock again, and answers in several words. */
export const STORM_VENDOR = {
  name: 'storm',
  needsKey: false,
  open: (): ModelProvider => new ScriptedModel(stepOf, 'storm'),
};

function stepOf({ messages }: ModelRequest): ReturnType<typeof say> {
  const made = messages.filter(({ role }) => role === 'assistant').length;
  if (made === READS) return callTool('ask_caller', { question: QUESTION }, 'question');
  if (made <= 2 * READS) return { ...callTool('clock', {}, `clock-${made}`), delayMs: STEP_MS };
  return { ...say(RESULT), delayMs: STEP_MS };
}
