import { Controller, Get, Param } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam, ApiProperty, ApiTags } from '@nestjs/swagger';
import { type RunExport, RunReader, type RunTree } from '#rollcall/agent-runtime';
import { Permit } from '../auth/route.access.js';
import { Problems } from '../http/problems/problem.docs.js';
import { Limits } from '../http/server/routes.js';
import { NoInput } from '../http/validation/fields.js';
import { runKeyOf } from './run.commands.js';
import { RunSummaryView, RunView, toRunSummaryView, toRunView } from './run.view.js';
import { RunStepView, toStepView } from './step.view.js';
import { RUN_ID_PARAM } from './runs.dto.js';
import { Caller, type Principal } from '../auth/principal.js';

class SubtreeView {
  @ApiProperty({ type: 'integer', example: 2_400, description: 'Tokens.' }) tokens: number;
  @ApiProperty({ type: 'integer', example: 16_200, description: 'Micro-dollars.' }) microUsd: number;
}

class RunTreeView {
  @ApiProperty({
    type: RunSummaryView,
    description: 'The run, without its contents. Its `usage` does not include descendants.',
  })
  run: RunSummaryView;
  @ApiProperty({
    type: SubtreeView,
    description: 'The usage of the run and all its descendants, from the budget ledger.',
  })
  subtree: SubtreeView;
  @ApiProperty({ type: () => [RunTreeView], example: [], description: 'The runs that this run delegated, in order.' })
  children: RunTreeView[];
}

class RunExportView {
  @ApiProperty({ type: RunView, description: 'The run.' }) run: RunView;
  @ApiProperty({ type: [RunStepView], description: 'All steps, in order.' }) steps: RunStepView[];
  @ApiProperty({ type: () => [RunExportView], example: [], description: 'The runs that this run delegated, in order.' })
  children: RunExportView[];
}

/** Reads whole trees of runs. */
@ApiTags('runs')
@Controller('runs')
@Permit('runs:read')
export class RunHistoryController {
  constructor(private readonly reader: RunReader) {}

  @Get(':id/tree')
  @NoInput()
  @ApiOperation({
    operationId: 'runs.getTree',
    summary: 'Get a run with its descendants',
    description: 'Each run has its own usage, and the usage of its subtree.',
  })
  @ApiParam(RUN_ID_PARAM)
  @ApiOkResponse({ type: RunTreeView, description: 'The tree.' })
  @Problems('RUN_NOT_FOUND')
  async tree(@Param('id') id: string, @Caller() caller: Principal): Promise<RunTreeView> {
    return toTreeView(await this.reader.tree(runKeyOf(caller, id)));
  }

  @Get(':id/export')
  @NoInput()
  @Limits({ kind: 'streams' })
  @ApiOperation({
    operationId: 'runs.export',
    summary: 'Export a run',
    description: 'Everything that is stored about the run and its descendants, in one JSON document.',
  })
  @ApiParam(RUN_ID_PARAM)
  @ApiOkResponse({ type: RunExportView, description: 'The run, its steps and its descendants.' })
  @Problems('RUN_NOT_FOUND')
  async export(@Param('id') id: string, @Caller() caller: Principal): Promise<RunExportView> {
    return toExportView(await this.reader.export(runKeyOf(caller, id)));
  }
}

function toTreeView({ run, subtree, children }: RunTree): RunTreeView {
  return { run: toRunSummaryView(run), subtree, children: children.map(toTreeView) };
}

function toExportView({ run, steps, children }: RunExport): RunExportView {
  return { run: toRunView(run), steps: steps.map(toStepView), children: children.map(toExportView) };
}
