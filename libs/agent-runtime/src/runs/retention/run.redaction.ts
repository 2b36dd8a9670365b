import { type AgentResult, type AssistantPart, type ContentPart, textPart, userMessage } from '#rollcall/providers';
import type { RunResult } from '../run.status.js';
import type { RunStep } from '../run.step.js';

/** The placeholder for contents that were removed. */
export const REDACTED = '[redacted]';

const NOTHING_LEFT: readonly ContentPart[] = [textPart(REDACTED)];

/** The input of a run without its contents. */
export function redactedInput(): readonly ContentPart[] {
  return NOTHING_LEFT;
}

/** Keeps why a run ended, but no text: an explanation may quote the input. */
export function redactResult(result: RunResult): RunResult {
  const { parts, reason, detail, approvals, error } = result;
  return {
    parts: redactParts(parts),
    ...(reason !== undefined && { reason }),
    ...(detail !== undefined && { detail: REDACTED }),
    ...(approvals && { approvals: approvals.map(redactCall) }),
    ...(error && { error: { code: error.code, message: REDACTED } }),
  };
}

/**
 * Keeps what a step did, with which tool, and what it cost. Each field that is kept is listed here, so a new field of a step is
 * removed unless it is added here.
 */
export function redactStep(step: RunStep): RunStep {
  switch (step.type) {
    case 'message':
      return { type: step.type, ...keep(step, 'messageId'), parts: redactParts(step.parts) };
    case 'message-received':
      return {
        type: step.type,
        messages: step.messages.map(() => userMessage(REDACTED)),
        ...keep(step, 'isCorrection'),
      };
    case 'model-replied': {
      const { content } = step.reply;
      const reply = {
        ...pick(step.reply, 'finish', 'usage'),
        ...keep(step.reply, 'model'),
        content: content.map(redactPart),
      };
      return { ...pick(step, 'type', 'turn'), ...keep(step, 'isFinal', 'charges'), reply };
    }
    case 'tool-called': {
      const { id, name } = step.call;
      return { ...pick(step, 'type', 'turn', 'idempotent'), call: { type: 'tool-call', id, name, input: REDACTED } };
    }
    case 'tool-finished':
      return { ...pick(step, 'type', 'turn', 'callId', 'name'), ...keep(step, 'failed'), output: REDACTED };
    case 'approval-decided':
      return { ...pick(step, 'type', 'callId', 'approved'), inputHash: REDACTED };
    case 'context-summarised':
      return {
        ...pick(step, 'type', 'turn', 'replaced', 'usage'),
        ...keep(step, 'charges', 'earlier'),
        summary: REDACTED,
      };
    case 'tool-call':
      return { ...pick(step, 'type', 'id', 'name'), input: REDACTED };
    case 'tool-result':
      return { ...pick(step, 'type', 'id', 'name'), ...keep(step, 'failed'), output: REDACTED };
    case 'agent-called':
      return { ...pick(step, 'type', 'idempotent'), ...keep(step, 'callId') };
    case 'agent-accepted':
      return pick(step, 'type', 'task');
    case 'authorization':
      return { ...pick(step, 'type', 'required'), parts: redactParts(step.parts) };
    case 'finished':
      return { type: step.type, result: redactAgentResult(step.result) };
    default:
      return onlyType(step);
  }
}

/** For a step of another version of Rollcall: the meaning of its other fields is unknown. */
function onlyType({ type }: { readonly type: string }): RunStep {
  return { type } as RunStep;
}

function redactAgentResult(result: AgentResult): AgentResult {
  const kept = { usage: result.usage, parts: redactParts(result.parts) };
  if (result.outcome === 'stopped') return { ...kept, ...pick(result, 'outcome', 'reason'), detail: REDACTED };
  if (result.outcome === 'waiting')
    return { ...kept, outcome: result.outcome, approvals: result.approvals.map(redactCall) };
  return { ...kept, outcome: result.outcome };
}

/** The hash of a short input would reveal the input, so the hash is removed, too. */
function redactCall({ callId, tool }: { callId: string; tool: string }) {
  return { callId, tool, input: REDACTED, inputHash: REDACTED };
}

function redactPart(part: AssistantPart): AssistantPart {
  if (part.type !== 'tool-call') return { type: part.type, text: REDACTED };
  return { ...pick(part, 'type', 'id', 'name'), input: REDACTED };
}

function redactParts(parts: readonly ContentPart[]): readonly ContentPart[] {
  return parts.length === 0 ? [] : NOTHING_LEFT;
}

function pick<T extends object, Key extends keyof T>(value: T, ...keys: Key[]): Pick<T, Key> {
  return Object.fromEntries(keys.map((key) => [key, value[key]])) as Pick<T, Key>;
}

/** Like `pick`, without the fields that are absent. */
function keep<T extends object, Key extends keyof T>(value: T, ...keys: Key[]): Partial<Pick<T, Key>> {
  return pick(value, ...keys.filter((key) => value[key] !== undefined));
}
