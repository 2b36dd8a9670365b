import type { AgentUsage } from '#rollcall/providers';
import type { Run } from './run.js';
import type { RunFence } from './run.scope.js';
import type { RunEnd } from './run.status.js';
import type { RunStep } from './run.step.js';

/** A step, or the end of an execution. */
export interface LogEntry {
  readonly fence: RunFence;
  readonly run: Run;
  readonly step?: { readonly seq: number; readonly step: RunStep };
  readonly end?: RunEnd & { readonly usage: AgentUsage };
}
