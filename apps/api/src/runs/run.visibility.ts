import type { Run } from '#rollcall/agent-runtime';
import type { Principal } from '../auth/principal.js';

/**
 * Whether a run is a task of the caller. A caller sees the runs that it started; with `runs:manage`, all runs of the namespace.
 * Delegated runs are not tasks. `agentId` is the agent that the caller addresses, if it addresses one.
 */
export function isTaskOf(run: Run, { owner, permissions }: Principal, agentId: string | undefined): boolean {
  if (run.parentId !== null) return false;
  if (agentId !== undefined && run.agentId !== agentId) return false;
  return run.createdBy === owner || permissions.includes('runs:manage');
}
