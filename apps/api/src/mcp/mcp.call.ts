import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { closeSignal } from '../http/close.signal.js';
import { problemOf } from '../http/problems/problem.js';
import { keyedRequest } from '../idempotency/idempotency.service.js';
import type { RunCommand } from '../runs/run.commands.js';
import type { McpAgent } from './mcp.agents.js';
import { errorFacts, explanationOf } from './mcp.errors.js';
import { callerOf, type Principal } from '../auth/principal.js';

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

/** `key` is the idempotency key of the client. A repetition has the same key and the same content. */
export function mcpCommandOf(call: McpCall, { key, content }: { key?: string; content?: unknown } = {}): RunCommand {
  const { caller, request, agent } = call;
  if (key === undefined) return { caller, stores: 'id' };
  const given = [caller.namespace, agent?.agentId ?? null, content];
  return { caller, stores: 'id', once: keyedRequest({ protocol: 'mcp', caller, request, key, content: given }) };
}

/** The extension for tasks (SEP-2663). A task is a run. */
export const TASKS = 'io.modelcontextprotocol/tasks';

/** What the client declared in this request. Requests of protocol versions before 2026 declare nothing. */
export function capabilitiesIn({ mcpReq }: Pick<ServerContext, 'mcpReq'>): ClientCapabilities {
  const envelope = (mcpReq.envelope ?? {}) as Record<string, ClientCapabilities>;
  return envelope[CLIENT_CAPABILITIES_META_KEY] ?? {};
}

export function supportsTasks(context: Pick<ServerContext, 'mcpReq'>): boolean {
  return capabilitiesIn(context).extensions?.[TASKS] !== undefined;
}

/** Converts an error to a JSON-RPC error, whose data contains the error code of Rollcall. */
export function toProtocolError(error: unknown, requestId: string): ProtocolError {
  if (error instanceof ProtocolError) return error;
  const problem = problemOf(error, requestId);
  const facts = errorFacts(problem);
  const code = problem.status >= 500 ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidParams;
  return new ProtocolError(code, explanationOf(facts), facts);
}
