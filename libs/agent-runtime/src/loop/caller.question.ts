import type { ModelMessage } from '#rollcall/providers';
import type { ParsedInput } from '../tools/input/input.reader.js';
import type { Tool, ToolBox } from '../tools/tool.js';

export const ASK_TOOL = 'ask_caller';
const MAX_QUESTION_LENGTH = 10_000;

/** A tool with which the model asks its caller a question. The run then ends with the outcome `input-required`. */
const ASK_CALLER: Tool = {
  name: ASK_TOOL,
  description:
    'Asks your caller a question. Use it only if you cannot continue without the answer. Your turn ends, and the answer is the next message.',
  inputSchema: {
    type: 'object',
    properties: { question: { type: 'string', description: 'The question, complete and understandable on its own' } },
    required: ['question'],
    additionalProperties: false,
  },
  idempotent: true,
  needsApproval: false,
  parse: parseQuestion,
  execute: () => 'The question was sent. The next message contains the answer.',
};

/** This toolbox comes before all others, so that no other tool with this name can end a run. */
export const ASK_TOOLBOX: ToolBox = { name: 'caller', isGranted: true, tools: () => [ASK_CALLER] };

/** The question of the last turn that the caller has not answered yet. */
export function openQuestion(messages: readonly ModelMessage[]): string | undefined {
  const last = messages.at(-1);
  if (last?.role !== 'tool') return undefined;
  const asked = last.content.filter(({ name, failed }) => name === ASK_TOOL && !failed).map(({ id }) => id);
  if (asked.length === 0) return undefined;
  const calling = messages.at(-2);
  if (calling?.role !== 'assistant') return undefined;
  const questions = calling.content.flatMap((part) =>
    part.type === 'tool-call' && asked.includes(part.id) ? [questionOf(part.input)] : [],
  );
  return questions.join('\n');
}

function parseQuestion(input: unknown): ParsedInput {
  const question = questionOf(input);
  if (question === '') return { ok: false, problems: 'question must be a text that is not empty' };
  if (question.length > MAX_QUESTION_LENGTH)
    return { ok: false, problems: `question must have at most ${MAX_QUESTION_LENGTH} characters` };
  return { ok: true, value: { question } };
}

function questionOf(input: unknown): string {
  const { question } = (input ?? {}) as { question?: unknown };
  return typeof question === 'string' ? question.trim() : '';
}
