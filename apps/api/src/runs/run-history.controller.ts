import { Controller, Get, Param } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { RunReader } from '#rollcall/agent-runtime';
import { Caller } from '../auth/caller.js';
import type { Principal } from '../auth/principal.js';
import { Permit } from '../auth/route.access.js';
import { RunExportView, RunTreeView, toExportView, toTreeView } from './run-history.view.js';
import { RUN_ID } from './runs.examples.js';
import { Limits } from '../http/server/routes.js';
import { NoInput } from '../http/validation/fields.js';
import { Problems } from '../http/problems/problem.docs.js';

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
  @ApiParam(RUN_ID)
  @ApiOkResponse({ type: RunTreeView, description: 'The tree.' })
  @Problems('RUN_NOT_FOUND')
  async tree(@Param('id') id: string, @Caller() { namespace }: Principal): Promise<RunTreeView> {
    return toTreeView(await this.reader.tree({ namespace, id }));
  }

  @Get(':id/export')
  @NoInput()
  @Limits({ kind: 'streams' })
  @ApiOperation({
    operationId: 'runs.export',
    summary: 'Export a run',
    description: 'Everything that is stored about the run and its descendants, in one JSON document.',
  })
  @ApiParam(RUN_ID)
  @ApiOkResponse({ type: RunExportView, description: 'The run, its steps and its descendants.' })
  @Problems('RUN_NOT_FOUND')
  async export(@Param('id') id: string, @Caller() { namespace }: Principal): Promise<RunExportView> {
    return toExportView(await this.reader.export({ namespace, id }));
  }
}
