/** The addresses of the resources. Ids are encoded as in a URL. */
export const AGENTS = 'rollcall://agents';
export const AGENT = `${AGENTS}/{agentId}`;
export const RUN = 'rollcall://runs/{runId}';
export const EVENTS_SINCE = 'rollcall://events/{after}';
/** Every address of events begins with this. */
export const EVENTS_PREFIX = 'rollcall://events/';

export function agentUri(agentId: string): string {
  return `${AGENTS}/${encodeURIComponent(agentId)}`;
}

export function runUri(runId: string): string {
  return `rollcall://runs/${encodeURIComponent(runId)}`;
}
