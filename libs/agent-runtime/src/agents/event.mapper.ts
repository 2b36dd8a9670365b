import type { AgentEvent, AgentResult, AgentUsage } from '#rollcall/providers';
import type { LoopEvent, LoopStep } from '../loop/loop.step.js';
import type { RunOutcome } from '../loop/run.outcome.js';

/** Converts an event of a run for the caller of an agent. Returns undefined if the caller does not need it. */
export function toAgentEvent(event: LoopEvent): AgentEvent | undefined {
  switch (event.type) {
    case 'text':
      return { type: 'text', text: event.text };
    case 'progress':
      return { type: 'progress', text: event.text };
    case 'reasoning':
      return undefined;
    case 'step':
      return ofStep(event.step);
  }
}

function ofStep(step: LoopStep): AgentEvent | undefined {
  if (step.type === 'tool-called') {
    const { id, name, input } = step.call;
    return { type: 'tool-call', id, name, input };
  }
  if (step.type !== 'tool-finished') return undefined;
  const { callId: id, name, output, failed } = step;
  return { type: 'tool-result', id, name, output, ...(failed && { failed }) };
}

export function toAgentResult(outcome: RunOutcome, usage: AgentUsage, conversationId?: string): AgentResult {
  const base = { usage, ...(conversationId !== undefined && { conversationId }) };
  switch (outcome.type) {
    case 'completed':
    case 'input-required':
    case 'refused':
      return { ...base, outcome: outcome.type, parts: outcome.parts };
    case 'waiting':
      return { ...base, outcome: 'waiting', approvals: outcome.approvals, parts: [] };
    case 'stopped':
      return { ...base, outcome: 'stopped', reason: outcome.reason, detail: outcome.detail, parts: outcome.parts };
  }
}
