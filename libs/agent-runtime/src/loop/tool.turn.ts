import type { ToolCallPart } from '#rollcall/providers';
import { inputHashOf } from '../tools/input.hash.js';
import type { ToolSet } from '../tools/tool.set.js';
import type { Move } from './move.js';
import { openCalls } from './open.turn.js';
import type { PendingApproval } from './run.outcome.js';
import type { RunState } from './run.state.js';
import type { Step } from './step.js';

export type ToolFinder = Pick<ToolSet, 'find'>;

/**
 * Decides what happens to the tool calls of a reply. First their begin is recorded, then all are executed at once. Calls that need an
 * approval do not delay the others; the run waits for the decisions when the others have ended.
 */
export function nextForCalls({ openSteps, turn }: RunState, tools: ToolFinder): Move {
  const steps: Step[] = [];
  const ready: ToolCallPart[] = [];
  const approvals: PendingApproval[] = [];
  for (const { call, called, decision, result } of openCalls(openSteps)) {
    if (result) continue;
    const tool = tools.find(call.name)?.tool;
    if (decision?.approved === false) steps.push(rejected(turn, call, decision.reason));
    else if (tool?.needsApproval && !decision && call.malformed === undefined) approvals.push(approvalOf(call));
    else if (called) ready.push(call);
    else steps.push({ type: 'tool-called', turn, call, idempotent: tool?.idempotent ?? true });
  }
  if (steps.length > 0) return { type: 'record', steps };
  if (ready.length > 0) return { type: 'execute', calls: ready };
  return { type: 'end', outcome: { type: 'waiting', approvals } };
}

function rejected(turn: number, { id, name }: ToolCallPart, reason?: string): Step {
  const output = `An operator rejected this call${reason ? `: ${reason}` : '.'}`;
  return { type: 'tool-finished', turn, callId: id, name, output, failed: true };
}

function approvalOf({ id, name, input }: ToolCallPart): PendingApproval {
  return { callId: id, tool: name, input, inputHash: inputHashOf(input) };
}
