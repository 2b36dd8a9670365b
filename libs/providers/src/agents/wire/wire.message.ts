import type { AgentMessage, CallBudget, CallContext, HandleOptions } from '../agent.js';
import { type ContentPart, dataOfParts, textOfParts } from '../content.part.js';

/** The run context that agents outside this process receive. It does not contain the names of other agents. */
type WireContext = Pick<CallContext, 'rootRunId' | 'runId' | 'depth' | 'deadline'>;

/** The JSON object that `http` and `subprocess` agents receive. */
export interface WireMessage {
  type: 'message';
  /** The id of this attempt. A subprocess puts it in each line of its answer. */
  id: string;
  /** The id of the call, which is the same for all its attempts. */
  callId?: string;
  /** The text of all text parts, for agents that do not read `parts`. */
  text: string;
  /** The value of the data part, or an array if there are several, for agents that do not read `parts`. */
  data?: unknown;
  parts: readonly ContentPart[];
  /** As the agent named the conversation; until it has named one, as the caller did. */
  conversationId?: string;
  budget?: CallBudget;
  context?: WireContext;
}

export function toWire({ parts }: AgentMessage, options: HandleOptions): WireMessage {
  const { contextId, conversationId = contextId, budget, callId, context } = options;
  const data = dataOfParts(parts);
  return {
    type: 'message',
    id: crypto.randomUUID(),
    callId,
    text: textOfParts(parts),
    data: data.length > 1 ? data : data[0],
    parts,
    conversationId,
    budget,
    context: context && toWireContext(context),
  };
}

export function toWireContext({ rootRunId, runId, depth, deadline }: CallContext): WireContext {
  return { rootRunId, runId, depth, deadline };
}
