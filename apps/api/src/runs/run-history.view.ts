import { ApiProperty } from '@nestjs/swagger';
import type { RunExport, RunTree } from '#rollcall/agent-runtime';
import { RunStepView, RunView, toRunView, toStepView } from './run.view.js';

class SubtreeView {
  @ApiProperty({ type: 'integer', example: 2_400, description: 'Tokens.' }) tokens: number;
  @ApiProperty({ type: 'integer', example: 16_200, description: 'Micro-dollars.' }) microUsd: number;
}

export class RunTreeView {
  @ApiProperty({ type: RunView, description: 'The run. Its `usage` does not include descendants.' }) run: RunView;
  @ApiProperty({
    type: SubtreeView,
    description: 'The usage of the run and all its descendants, from the budget ledger.',
  })
  subtree: SubtreeView;
  @ApiProperty({ type: () => [RunTreeView], example: [], description: 'The runs that this run delegated, in order.' })
  children: RunTreeView[];
}

export class RunExportView {
  @ApiProperty({ type: RunView, description: 'The run.' }) run: RunView;
  @ApiProperty({ type: [RunStepView], description: 'All steps, in order.' }) steps: RunStepView[];
  @ApiProperty({ type: () => [RunExportView], example: [], description: 'The runs that this run delegated, in order.' })
  children: RunExportView[];
}

export function toTreeView({ run, subtree, children }: RunTree): RunTreeView {
  return { run: toRunView(run), subtree, children: children.map(toTreeView) };
}

export function toExportView({ run, steps, children }: RunExport): RunExportView {
  return { run: toRunView(run), steps: steps.map(toStepView), children: children.map(toExportView) };
}
