import type { RunStepView, RunSummary, RunTreeView } from '#rollcall/client';
import { plain, words } from '../parts/format.js';

export type RowKind = 'run' | 'model' | 'tool' | 'wait' | 'bad' | 'message';

/** A bar of the waterfall. */
export interface TimelineRow {
  readonly key: string;
  readonly kind: RowKind;
  readonly name: string;
  readonly depth: number;
  readonly startMs: number;
  /** Undefined while it is in progress. */
  readonly endMs: number | undefined;
  /** The steps behind the bar, or the run. */
  readonly steps: readonly RunStepView[];
  readonly run: RunSummary | undefined;
}

const at = (step: RunStepView): number => Date.parse(step.at);

/** The rows of a run and of the runs that it delegated, each below the step before it, in the order of time. */
export function timelineOf(
  { run, children }: RunTreeView,
  stepsOf: (runId: string) => readonly RunStepView[],
  depth = 0,
): TimelineRow[] {
  const own = rowsOf(stepsOf(run.id), run, depth + 1);
  const groups = [
    ...own.map((row) => [row]),
    ...children.map((child) => timelineOf(child, stepsOf, depth + 1)),
  ].toSorted(([one], [other]) => (one?.startMs ?? 0) - (other?.startMs ?? 0));
  return [runRow(run, depth), ...groups.flat()];
}

function runRow(run: RunSummary, depth: number): TimelineRow {
  const { id, agentId, startedAt, createdAt, finishedAt, state } = run;
  const kind = state === 'failed' || state === 'refused' ? 'bad' : 'run';
  const startMs = Date.parse(startedAt ?? createdAt);
  const endMs = finishedAt === null ? undefined : Date.parse(finishedAt);
  return { key: id, kind, name: plain(agentId), depth, startMs, endMs, steps: [], run };
}

/** A reply begins where the step before it ended; a call and its result are one bar. */
function rowsOf(steps: readonly RunStepView[], run: RunSummary, depth: number): TimelineRow[] {
  const rows: TimelineRow[] = [];
  const results = new Map(steps.flatMap((step) => (resultIdOf(step) === undefined ? [] : [[resultIdOf(step), step]])));
  let before = Date.parse(run.startedAt ?? run.createdAt);
  for (const [index, step] of steps.entries()) {
    const base = { key: `${run.id} ${step.seq}`, depth, run: undefined };
    const one = step.step;
    const end = at(step);
    const row = (kind: RowKind, name: string, startMs: number, endMs: number | undefined, all = [step]): void =>
      void rows.push({ ...base, kind, name: plain(name), startMs, endMs, steps: all });
    if (one.type === 'message') row('message', 'message', end, end);
    if (one.type === 'model-replied') row('model', `${one.reply.model ?? 'model'} · turn ${one.turn}`, before, end);
    if (one.type === 'context-summarised') row('model', 'summary of the conversation', before, end);
    if (one.type === 'tool-called' || one.type === 'tool-call' || one.type === 'agent-called') {
      const id = callIdOf(step);
      const isCall = one.type !== 'agent-called';
      const result = isCall ? results.get(id) : steps.slice(index).find(({ type }) => type === 'finished');
      const name =
        one.type === 'tool-called' ? one.call.name : one.type === 'tool-call' ? one.name : 'call of the agent';
      const isBad = result !== undefined && 'failed' in result.step && result.step.failed;
      const stop = result ? at(result) : run.finishedAt === null ? undefined : Date.parse(run.finishedAt);
      row(isBad ? 'bad' : isCall ? 'tool' : 'run', name, end, stop, result ? [step, result] : [step]);
    }
    if (one.type === 'approval-decided') row('wait', one.approved ? 'approved' : 'refused', before, end);
    before = Math.max(before, end);
  }
  if (run.state === 'waiting')
    rows.push({
      key: `${run.id} waiting`,
      kind: 'wait',
      name: `waits for ${words(run.waitingFor ?? 'an answer')}`,
      depth,
      startMs: before,
      endMs: undefined,
      steps: [],
      run,
    });
  return rows;
}

function callIdOf({ step }: RunStepView): string | undefined {
  if (step.type === 'tool-called') return step.call.id;
  return step.type === 'tool-call' ? step.id : undefined;
}

function resultIdOf({ step }: RunStepView): string | undefined {
  if (step.type === 'tool-finished') return step.callId;
  return step.type === 'tool-result' ? step.id : undefined;
}

/** All runs of the tree, the root first. */
export function runsOfTree({ run, children }: RunTreeView): RunSummary[] {
  return [run, ...children.flatMap(runsOfTree)];
}
