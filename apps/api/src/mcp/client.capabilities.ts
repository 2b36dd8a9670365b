import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type ServerContext,
} from '@modelcontextprotocol/server';

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
