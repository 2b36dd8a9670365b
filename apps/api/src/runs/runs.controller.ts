import { Body, Controller, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiAcceptedResponse, ApiBody, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { RunReader } from '#rollcall/agent-runtime';
import { Permit } from '../auth/route.access.js';
import { PagedList, PageQuery } from '../http/page.js';
import { Problems } from '../http/problems/problem.docs.js';
import { Limits } from '../http/server/routes.js';
import { NoInput } from '../http/validation/fields.js';
import { RunCommands, runKeyOf, toStartRun, visibleRuns } from './run.commands.js';
import { RunPageView, RunStepPage, RunView, toRunSummaryView } from './run.view.js';
import { toStepView } from './step.view.js';
import { httpCommandOf, NO_WAIT, PreferHeader, RunWaits, waitsOrRequests } from './run.waits.js';
import { RUN_ID_PARAM, RunQuery, RunsQuery, START_EXAMPLES, StartRunBody } from './runs.dto.js';
import { IdempotencyHeader, SelfAudited } from '../mutation/mutation.js';
import { Caller, type Principal } from '../auth/principal.js';

const VISIBLE_RUNS =
  'With the permission `runs:read-all`, all runs of the namespace; without it, the runs that the caller started.';
const RUNS = new PagedList('runs');
const STEPS = new PagedList('run-steps', /^\d{1,9}$/);

@ApiTags('runs')
@Controller('runs')
export class RunsController {
  constructor(
    private readonly commands: RunCommands,
    private readonly reader: RunReader,
    private readonly waits: RunWaits,
  ) {}

  @Post()
  @HttpCode(202)
  @Permit('runs:start')
  @Limits({ kind: waitsOrRequests })
  @SelfAudited('run.started')
  @IdempotencyHeader()
  @PreferHeader()
  @ApiOperation({
    operationId: 'runs.start',
    summary: 'Start a run',
    description:
      'Stores the run and returns it; the next replica with free capacity executes it. Name an agent, a definition or ' +
      'capabilities; without them, the default agent is used. With `waitMs` or `Prefer: wait`, the response is the run when it is ' +
      'finished or waits for its caller; if this takes longer, the response is the run as it is then.',
  })
  @ApiBody({ type: StartRunBody, examples: START_EXAMPLES })
  @ApiAcceptedResponse({
    type: RunView,
    description:
      'The run, which is queued, or running if this replica has room. If the request waits, the run as it is at the end of the wait.',
  })
  @Problems('RUN_TARGET_MISSING', 'RUN_TARGET_UNKNOWN', 'RUN_TARGET_UNAVAILABLE', 'DEFINITION_NOT_FOUND')
  @Problems('AGENT_BUSY', 'RUN_QUEUE_FULL', 'WORKSPACE_REJECTED')
  @Problems('RUN_DEADLINE_PASSED', { SPENDING_LIMIT_REACHED: 'Nothing can be reserved, so the run is not started.' })
  async start(
    @Body() body: StartRunBody,
    @Query() query: RunQuery,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RunView> {
    const started = await this.commands.start(httpCommandOf(reply.request), () => toStartRun(body, caller));
    return await this.waits.answer(reply, query, started);
  }

  @Get()
  @Permit('runs:read')
  @ApiOperation({
    operationId: 'runs.list',
    summary: 'List runs',
    description: `The newest runs come first. A list has previews of inputs and results; get a run to read its contents. ${VISIBLE_RUNS}`,
  })
  @ApiOkResponse({ type: RunPageView, description: 'A page of runs.' })
  @Problems('CURSOR_INVALID')
  async list(@Query() query: RunsQuery, @Caller() caller: Principal): Promise<RunPageView> {
    const { limit, cursor, state: states, agent: agentId, definition, root: rootId, from, to } = query;
    const before = RUNS.readCursor(cursor);
    const filter = { ...visibleRuns(caller), states, agentId, definition, rootId, from, to };
    const rows = await this.reader.list(filter, limit + 1, before === undefined ? undefined : Number(before));
    return RUNS.toPage(rows, limit, toRunSummaryView, ({ seq }) => String(seq));
  }

  @Get(':id')
  @Permit('runs:read')
  @Limits({ kind: waitsOrRequests })
  @PreferHeader()
  @ApiOperation({
    operationId: 'runs.get',
    summary: 'Get a run',
    description:
      'With `waitMs` or `Prefer: wait`, the request waits until the run is finished or waits for its caller.',
  })
  @ApiParam(RUN_ID_PARAM)
  @ApiOkResponse({ type: RunView, description: 'The run.' })
  @Problems('RUN_NOT_FOUND')
  async get(
    @Param('id') id: string,
    @Query() query: RunQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RunView> {
    return await this.waits.read(reply, query, id);
  }

  @Get(':id/steps')
  @Permit('runs:read')
  @Limits({ kind: 'streams' })
  @ApiOperation({
    operationId: 'runs.listSteps',
    summary: 'List the steps of a run',
    description: 'The first step comes first. A page of large steps ends at 1 MB.',
  })
  @ApiParam(RUN_ID_PARAM)
  @ApiOkResponse({ type: RunStepPage, description: 'A page of steps.' })
  @Problems('RUN_NOT_FOUND', 'CURSOR_INVALID')
  async steps(
    @Param('id') id: string,
    @Query() { limit, cursor }: PageQuery,
    @Caller() caller: Principal,
  ): Promise<RunStepPage> {
    const after = Number(STEPS.readCursor(cursor) ?? 0);
    const rows = await this.reader.steps(runKeyOf(caller, id), after, limit + 1);
    return STEPS.toPage(rows, limit, toStepView, ({ seq }) => String(seq));
  }

  @Post(':id/cancel')
  @NoInput()
  @HttpCode(200)
  @Permit('runs:start')
  @SelfAudited('run.cancelled')
  @IdempotencyHeader()
  @ApiOperation({
    operationId: 'runs.cancel',
    summary: 'Cancel a run',
    description:
      'Cancels the run and all its descendants. No step is recorded afterwards. A run that is already cancelled is returned ' +
      'unchanged. Without the permission `runs:manage`, the caller must have started the run.',
  })
  @ApiParam(RUN_ID_PARAM)
  @ApiOkResponse({ type: RunView, description: 'The cancelled run.' })
  @Problems('RUN_NOT_FOUND', 'RUN_FINISHED', 'RUN_DELEGATED', 'RUN_FOREIGN')
  async cancel(@Param('id') id: string, @Res({ passthrough: true }) reply: FastifyReply): Promise<RunView> {
    return await this.waits.answer(reply, NO_WAIT, await this.commands.cancel(httpCommandOf(reply.request), id));
  }
}
