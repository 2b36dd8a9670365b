import type { AssistantPart, ModelReply, ToolCallPart, ToolResultPart } from '#rollcall/providers';
import { inputHashOf } from '../tools/input.hash.js';
import type { Step } from './step.js';

type StepOf<Type extends Step['type']> = Extract<Step, { type: Type }>;

/** A tool call of the last reply, and what the steps record about it. */
export interface OpenCall {
  readonly call: ToolCallPart;
  result?: ToolResultPart;
  /** Present if the call has begun. A later decision of an operator removes it, because the call then begins again. */
  called?: StepOf<'tool-called'>;
  /** The last decision of an operator about exactly this input. */
  decision?: StepOf<'approval-decided'>;
}

/** The reply whose turn has not ended yet. */
export function openReply(openSteps: readonly Step[]): StepOf<'model-replied'> | undefined {
  const first = openSteps[0];
  return first?.type === 'model-replied' ? first : undefined;
}

/** The tool calls of the open turn, in the order of the reply. */
export function openCalls(openSteps: readonly Step[]): OpenCall[] {
  const reply = openReply(openSteps)?.reply;
  if (!reply) return [];
  const calls: OpenCall[] = [];
  for (const part of reply.content) if (part.type === 'tool-call') calls.push({ call: part });
  for (const step of openSteps) applyToCalls(calls, step);
  return calls;
}

/** The calls that have begun and have no result, and that must not be repeated: it is unknown whether they took effect. */
export function unclearCalls(openSteps: readonly Step[]): OpenCall[] {
  return openCalls(openSteps).filter(({ called, result }) => called && !called.idempotent && !result);
}

function applyToCalls(calls: OpenCall[], step: Step): void {
  if (step.type === 'tool-called') {
    const open = find(calls, step.call.id);
    if (open) open.called = step;
  } else if (step.type === 'tool-finished') {
    const open = find(calls, step.callId);
    if (open) open.result ??= toResult(step);
  } else if (step.type === 'approval-decided') {
    const open = find(calls, step.callId);
    if (open && step.inputHash === inputHashOf(open.call.input)) [open.decision, open.called] = [step, undefined];
  }
}

function find(calls: OpenCall[], id: string): OpenCall | undefined {
  return calls.find(({ call }) => call.id === id);
}

function toResult({ callId: id, name, output, failed }: StepOf<'tool-finished'>): ToolResultPart {
  return failed ? { type: 'tool-result', id, name, output, failed } : { type: 'tool-result', id, name, output };
}

/**
 * The reply with unique call ids, and without blank texts, which vendors reject in a conversation. The calls of a final reply are
 * removed, because they are never executed.
 */
export function normalized(step: StepOf<'model-replied'>): StepOf<'model-replied'> {
  const { reply, isFinal = false } = step;
  if (!isFinal && !reply.content.some(isBlank) && !hasRepeatedIds(reply)) return step;
  const ids = new Set<string>();
  const content = reply.content.flatMap((part): AssistantPart[] => {
    if (isBlank(part) || (isFinal && part.type === 'tool-call')) return [];
    return [part.type === 'tool-call' ? withFreeId(part, ids) : part];
  });
  return { ...step, reply: { ...reply, content } };
}

function isBlank(part: AssistantPart): boolean {
  return part.type === 'text' && part.text.trim() === '';
}

function hasRepeatedIds({ content }: ModelReply): boolean {
  const calls = content.filter((part) => part.type === 'tool-call');
  return calls.length > 1 && new Set(calls.map(({ id }) => id)).size < calls.length;
}

function withFreeId(call: ToolCallPart, ids: Set<string>): ToolCallPart {
  let { id } = call;
  for (let copy = 2; ids.has(id); copy += 1) id = `${call.id}-${copy}`;
  ids.add(id);
  return id === call.id ? call : { ...call, id };
}
