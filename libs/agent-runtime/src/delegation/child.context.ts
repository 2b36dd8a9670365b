import { createHash } from 'node:crypto';
import type { RunContext } from '../loop/run.context.js';

const ID_LENGTH = 32;

/** The tool call that starts a delegated run. */
interface DelegatingCall {
  readonly turn: number;
  readonly callId: string;
  readonly index: number;
}

/**
 * The context of a delegated run. Its id follows from the parent run and the tool call, so a call that is repeated after a crash
 * gets the same run. The id also depends on the turn, because vendors may reuse the id of a call in a later turn. `index` numbers the
 * agents of one call.
 */
export function childContext(parent: RunContext, childName: string, call: DelegatingCall): RunContext {
  const { namespace, rootRunId, runId, callerId, agentName, ancestry, depth, deadline, limits } = parent;
  return {
    namespace,
    rootRunId,
    runId: childRunId(runId, childName, call.turn, call.callId, call.index),
    parentRunId: runId,
    ...(callerId !== undefined && { callerId }),
    agentName: childName,
    ancestry: [...ancestry, agentName],
    depth: depth + 1,
    deadline,
    limits,
  };
}

/** The context with the earlier of both deadlines. */
export function withDeadline(context: RunContext, deadline: number): RunContext {
  return { ...context, deadline: Math.min(context.deadline ?? Infinity, deadline) };
}

function childRunId(...identity: (string | number)[]): string {
  return createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, ID_LENGTH);
}
