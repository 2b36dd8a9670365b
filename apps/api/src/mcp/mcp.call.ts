import type { RunKey } from '#rollcall/agent-runtime';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf } from '../auth/caller.js';
import type { Principal } from '../auth/principal.js';
import { closeSignal } from '../http/close.signal.js';
import { keyedRequest } from '../idempotency/idempotency.service.js';
import type { RunCommand } from '../runs/run.commands.js';
import type { McpAgent } from './mcp.agents.js';

/** One request of an MCP client. */
export interface McpCall {
  readonly caller: Principal;
  readonly request: FastifyRequest;
  /** Aborted when the client closes the connection. */
  readonly signal: AbortSignal;
  /** The agent in the path. Absent: the client addresses Rollcall itself. */
  readonly agent?: McpAgent;
}

export function callOf(reply: FastifyReply, agent?: McpAgent): McpCall {
  const { request } = reply;
  return { caller: callerOf(request), request, signal: closeSignal(reply), agent };
}

export function keyOf({ caller: { namespace } }: McpCall, id: string): RunKey {
  return { namespace, id };
}

/** `key` is the idempotency key of the client. A repetition has the same key and the same content. */
export function commandOf(call: McpCall, { key, content }: { key?: string; content?: unknown } = {}): RunCommand {
  const { caller, request, agent } = call;
  if (key === undefined) return { caller, stores: 'id' };
  const given = [caller.namespace, agent?.agentId ?? null, content];
  return { caller, stores: 'id', once: keyedRequest({ protocol: 'mcp', caller, request, key, content: given }) };
}
