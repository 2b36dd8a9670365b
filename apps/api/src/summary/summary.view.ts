import { ApiProperty } from '@nestjs/swagger';
import type { RunCounts } from '#rollcall/agent-runtime';

const COUNT = { type: 'integer', example: 3 } as const;

class AgentCountsView {
  @ApiProperty({ ...COUNT, description: 'All agents that have not left.' }) total: number;
  @ApiProperty({ ...COUNT, description: 'Agents with the status `active`.' }) active: number;
  @ApiProperty({ ...COUNT, description: 'Agents with the status `suspect`: heartbeats are missing.' }) suspect: number;
  @ApiProperty({ ...COUNT, description: 'Agents with the status `draining`.' }) draining: number;
  @ApiProperty({ ...COUNT, description: 'Agents with the status `quarantined`.' }) quarantined: number;
  @ApiProperty({ ...COUNT, description: 'Agents with a budget of their own that is low or exhausted.' })
  lowBudget: number;
}

class CircuitCountsView {
  @ApiProperty({ ...COUNT, description: 'Circuits that admit calls.' }) closed: number;
  @ApiProperty({ ...COUNT, description: 'Circuits that reject calls.' }) open: number;
  @ApiProperty({ ...COUNT, description: 'Circuits that admit one call as a probe.' }) half_open: number;
}

class BudgetCountsView {
  @ApiProperty({ ...COUNT, description: 'Budgets of which little is left. Budgets of runs are not counted.' })
  low: number;
  @ApiProperty({ ...COUNT, description: 'Budgets of which nothing is left. Budgets of runs are not counted.' })
  exhausted: number;
}

class WaitingRunsView {
  @ApiProperty({ ...COUNT, description: 'Runs that wait for an answer of their caller.' }) input: number;
  @ApiProperty({ ...COUNT, description: 'Runs that wait for a decision about tool calls.' }) approval: number;
  @ApiProperty({ ...COUNT, description: 'Runs that wait for a decision about interrupted calls.' })
  needs_review: number;
}

class RunCountsView {
  @ApiProperty({ ...COUNT, description: 'Runs that wait for a free place.' }) queued: number;
  @ApiProperty({ ...COUNT, description: 'Runs in progress.' }) running: number;
  @ApiProperty({ ...COUNT, description: 'Runs that wait.' }) waiting: number;
  @ApiProperty({ type: WaitingRunsView, description: 'What the waiting runs wait for.' }) waitingFor: WaitingRunsView;
  @ApiProperty({ ...COUNT, description: 'Runs that were completed in the last hour.' }) completed: number;
  @ApiProperty({ ...COUNT, description: 'Runs that ended in another way in the last hour.' }) notCompleted: number;
  @ApiProperty({
    type: Number,
    nullable: true,
    example: 3_400,
    description: 'The median time from the start to the end of the runs that were completed in the last hour.',
  })
  medianMs: number | null;
}

export class SummaryView {
  @ApiProperty({ type: AgentCountsView, description: 'The agents of the namespace.' }) agents: AgentCountsView;
  @ApiProperty({ type: CircuitCountsView, description: 'The circuits of these agents.' }) circuits: CircuitCountsView;
  @ApiProperty({ type: BudgetCountsView, description: 'The budgets of the namespace.' }) budgets: BudgetCountsView;
  @ApiProperty({
    type: RunCountsView,
    nullable: true,
    description: 'The runs that the caller may see, without delegated runs; null without the permission `runs:read`.',
  })
  runs: RunCountsView | null;
  @ApiProperty({ ...COUNT, description: 'The replicas of Rollcall that are connected to the database.' })
  replicas: number;
  @ApiProperty({ example: '1042', description: 'The newest event that this replica has read.' }) sequence: string;
}

export function toAgentCountsView(
  states: readonly { status: string; count: number }[],
  lowBudget: number,
): AgentCountsView {
  const counts = { total: 0, active: 0, suspect: 0, draining: 0, quarantined: 0, lowBudget };
  for (const { status, count } of states) {
    counts.total += count;
    if (status in counts) counts[status as 'active'] += count;
  }
  return counts;
}

export function toCircuitCountsView(circuits: ReadonlyMap<string, number>): CircuitCountsView {
  const count = (phase: string): number => circuits.get(phase) ?? 0;
  return { closed: count('closed'), open: count('open'), half_open: count('half_open') };
}

export function toRunCountsView({ states, waitingFor, medianMs }: RunCounts): RunCountsView {
  const { queued = 0, running = 0, waiting = 0, completed = 0 } = states;
  const { input = 0, approval = 0, needs_review = 0 } = waitingFor;
  const { failed = 0, stopped = 0, refused = 0, cancelled = 0 } = states;
  const notCompleted = failed + stopped + refused + cancelled;
  return { queued, running, waiting, waitingFor: { input, approval, needs_review }, completed, notCompleted, medianMs };
}
