import { Injectable } from '@nestjs/common';
import type { Run } from '../run.js';
import type { FinalState } from '../run.status.js';
import type { RunStep } from '../run.step.js';

/** Identifies the definition of a run; null for an agent outside Rollcall. */
export interface MeteredAgent {
  readonly namespace: string;
  readonly definition: string | null;
}

/** Receives measurements of the runs that this replica changes. */
export interface MeterObserver {
  /** `waitedMs` is the time from the start of a run until a replica executed it. */
  started(waitedMs: number): void;
  /** `tookMs` is the time from the first execution to the end; null if the run was never executed. */
  finished(agent: MeteredAgent, state: FinalState, tookMs: number | null): void;
  /** A stored step that used tokens. A count that the vendor did not report is undefined. */
  used(agent: MeteredAgent, use: RunUse): void;
}

export interface RunUse {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly microUsd?: number;
}

type Metered = Pick<Run, 'namespace' | 'definition'>;
type Timed = Metered & Pick<Run, 'state' | 'parentId' | 'createdAt' | 'startedAt' | 'finishedAt'>;

/** Passes measurements to the observers. Each replica measures the changes that it makes, so each change is measured once. */
@Injectable()
export class RunMeter {
  private readonly observers: MeterObserver[] = [];

  observe(observer: MeterObserver): void {
    this.observers.push(observer);
  }

  started({ parentId, createdAt, startedAt }: Timed): void {
    if (parentId !== null || startedAt === null) return; // a delegated run does not wait
    for (const observer of this.observers) observer.started(Date.parse(startedAt) - Date.parse(createdAt));
  }

  /** A run that waits is not finished. */
  finished(run: Timed): void {
    const { state, startedAt, finishedAt } = run;
    if (finishedAt === null) return;
    const tookMs = startedAt === null ? null : Date.parse(finishedAt) - Date.parse(startedAt);
    for (const observer of this.observers) observer.finished(agentOf(run), state as FinalState, tookMs);
  }

  /** `isExternal`: the agent has its own loop, so that only its result states what it used. */
  stored(run: Metered, step: RunStep, isExternal: boolean): void {
    const use = useOf(step, isExternal);
    if (use) for (const observer of this.observers) observer.used(agentOf(run), use);
  }
}

function agentOf({ namespace, definition }: Metered): MeteredAgent {
  return { namespace, definition: definition?.name ?? null };
}

function useOf(step: RunStep, isExternal: boolean): RunUse | undefined {
  if (step.type === 'model-replied' || step.type === 'context-summarised') {
    const { inputTokens, outputTokens } = step.type === 'model-replied' ? step.reply.usage : step.usage;
    const microUsd = step.charges?.reduce((sum, charge) => sum + (charge.microUsd ?? 0), 0);
    return { inputTokens, outputTokens, microUsd };
  }
  if (step.type !== 'finished' || !isExternal) return undefined;
  const { inputTokens, outputTokens, costMicroUsd: microUsd } = step.result.usage;
  return { inputTokens, outputTokens, microUsd };
}
