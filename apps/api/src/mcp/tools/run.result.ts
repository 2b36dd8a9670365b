import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server';
import { isFinal, type Run } from '#rollcall/agent-runtime';
import { runFacts } from '../../runs/run.task.js';
import { toContent } from './content.mapper.js';
import type { FollowUps } from './follow.ups.js';

/**
 * The result of a tool call that concerns a run: the parts of the answer, and facts for programs. If the run is not completed, a text
 * says why, and how to continue.
 */
export function toResult(run: Run, tools: FollowUps): CallToolResult {
  const { id, state, result } = run;
  const next = nextOf(run, tools);
  const explanation = [explanationOf(run), next].filter((text) => text !== undefined).join(' ');
  const texts: ContentBlock[] = explanation === '' ? [] : [{ type: 'text', text: explanation }];
  return {
    content: [...toContent(id, result?.parts ?? []), ...texts],
    structuredContent: { ...factsOf(run), ...(next !== undefined && { next }) },
    ...(isFinal(state) && state !== 'completed' && { isError: true }),
  };
}

/** The facts that programs need. The parts of the answer are in the content. */
function factsOf(run: Run): Record<string, unknown> {
  const { id: runId, agentId, conversationId } = run;
  return { runId, agentId, conversationId, ...runFacts(run) };
}

function explanationOf({ id, state, waitingFor, result }: Run): string | undefined {
  const { detail, error, approvals = [] } = result ?? {};
  if (state === 'completed') return undefined;
  if (waitingFor === 'input') return `The run ${id} asks you the question above.`;
  if (state === 'waiting') return `The run ${id} needs a decision about these calls: ${JSON.stringify(approvals)}.`;
  if (state === 'failed') return `${error?.code ?? 'FAILED'}: ${error?.message ?? 'The run failed.'}`;
  if (state === 'stopped') return detail ?? 'The run was stopped.';
  return `The run ${id} is ${state}.`;
}

/** Tells a model how to continue a run that is not finished. */
function nextOf({ id, state, waitingFor }: Run, { get, answer }: FollowUps): string | undefined {
  if (isFinal(state)) return undefined;
  const run = `"runId": "${id}"`;
  if (state !== 'waiting') return `To wait for its result, call ${get} with {${run}}.`;
  if (waitingFor === 'input') return `To answer, call ${answer} with {${run}, "input": "…"}.`;
  const decision = '"decision": {"callId": "…", "inputHash": "…", "approved": true or false}';
  return `Ask a human, then call ${answer} with {${run}, ${decision}}.`;
}
