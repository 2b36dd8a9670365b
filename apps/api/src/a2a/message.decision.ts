import { plainToInstance } from 'class-transformer';
import type { RunDecision } from '#rollcall/agent-runtime';
import type { ContentPart } from '#rollcall/providers';
import { validated } from '../http/validation/validation.pipe.js';
import { DecisionBody } from '../runs/run-replies.dto.js';

/** The decision in a data part `{"decision": {…}}`. A text is never a decision. */
export function decisionIn(parts: readonly ContentPart[]): RunDecision | undefined {
  for (const part of parts) {
    const decision = part.type === 'data' ? fieldOf(part.data) : undefined;
    if (decision !== undefined) return validated(plainToInstance(DecisionBody, decision));
  }
  return undefined;
}

function fieldOf(data: unknown): object | undefined {
  const { decision } = (data ?? {}) as { decision?: unknown };
  return typeof decision === 'object' && decision !== null && !Array.isArray(decision) ? decision : undefined;
}
