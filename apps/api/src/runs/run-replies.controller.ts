import { Body, Controller, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiAcceptedResponse, ApiBody, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Permit } from '../auth/route.access.js';
import { Problems } from '../http/problems/problem.docs.js';
import { Limits } from '../http/server/routes.js';
import { NoInput } from '../http/validation/fields.js';
import { partsOf, RunCommands } from './run.commands.js';
import { RunView } from './run.view.js';
import { httpCommandOf, NO_WAIT, PreferHeader, RunWaits, waitsOrRequests } from './run.waits.js';
import { DECISION_EXAMPLES, DecisionBody, MessageBody, RUN_ID_PARAM, RunQuery } from './runs.dto.js';
import { IdempotencyHeader, SelfAudited } from '../mutation/mutation.js';

/** Continues runs that wait, and repeats runs that are finished. */
@ApiTags('runs')
@Controller('runs')
export class RunRepliesController {
  constructor(
    private readonly commands: RunCommands,
    private readonly waits: RunWaits,
  ) {}

  @Post(':id/messages')
  @HttpCode(202)
  @Permit('runs:start')
  @Limits({ kind: waitsOrRequests })
  @SelfAudited('run.continued')
  @IdempotencyHeader()
  @PreferHeader()
  @ApiOperation({
    operationId: 'runs.sendMessage',
    summary: 'Answer a question of a run',
    description:
      'Continues the conversation of a run that waits for `input` or `approval`. Calls that wait for an approval are then not ' +
      'executed. Without the permission `runs:manage`, the caller must have started the run.',
  })
  @ApiParam(RUN_ID_PARAM)
  @ApiBody({ type: MessageBody })
  @ApiAcceptedResponse({
    type: RunView,
    description: 'The run, which is queued again. If the request waits, the run as it is at the end of the wait.',
  })
  @Problems('RUN_NOT_FOUND', 'RUN_FINISHED', 'RUN_NOT_WAITING', 'RUN_DELEGATED', 'RUN_FOREIGN', 'WORKSPACE_REJECTED')
  async message(
    @Param('id') id: string,
    @Body() body: MessageBody,
    @Query() query: RunQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RunView> {
    const next = { parts: partsOf(body) };
    const continued = await this.commands.continue(httpCommandOf(reply.request), id, next);
    return await this.waits.answer(reply, query, continued);
  }

  @Post(':id/approvals')
  @HttpCode(202)
  @Permit('runs:start')
  @Limits({ kind: waitsOrRequests })
  @SelfAudited('run.decided')
  @IdempotencyHeader()
  @PreferHeader()
  @ApiOperation({
    operationId: 'runs.decide',
    summary: 'Approve or reject a call',
    description:
      'Decides about one of the calls in `result.approvals`. The decision applies to exactly this call, once. The run ' +
      'continues, and waits again if other calls need a decision. Without the permission `runs:manage`, the caller must have ' +
      'started the run, and `approve` of the call must be `caller`.',
  })
  @ApiParam(RUN_ID_PARAM)
  @ApiBody({ type: DecisionBody, examples: DECISION_EXAMPLES })
  @ApiAcceptedResponse({
    type: RunView,
    description: 'The run, which is queued again. If the request waits, the run as it is at the end of the wait.',
  })
  @Problems('RUN_NOT_FOUND', 'RUN_FINISHED', 'RUN_NOT_WAITING', 'RUN_DECISION_MISMATCH', 'RUN_DELEGATED', 'RUN_FOREIGN')
  @Problems('APPROVAL_FORBIDDEN')
  async decide(
    @Param('id') id: string,
    @Body() body: DecisionBody,
    @Query() query: RunQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RunView> {
    const decided = await this.commands.decide(httpCommandOf(reply.request), id, body);
    return await this.waits.answer(reply, query, decided);
  }

  @Post(':id/retry')
  @NoInput()
  @HttpCode(202)
  @Permit('runs:start')
  @SelfAudited('run.retried')
  @IdempotencyHeader()
  @ApiOperation({
    operationId: 'runs.retry',
    summary: 'Repeat a finished run',
    description:
      'Starts a new run with the target, the input and the budget of a finished run, but without its deadline. The finished run ' +
      'does not change.',
  })
  @ApiParam(RUN_ID_PARAM)
  @ApiAcceptedResponse({
    type: RunView,
    description: 'The new run, which is queued, or running if this replica has room.',
  })
  @Problems('RUN_NOT_FOUND', 'RUN_NOT_FINISHED', 'RUN_DELEGATED', 'RUN_TARGET_MISSING', 'RUN_TARGET_UNKNOWN')
  @Problems('RUN_REDACTED', 'RUN_TARGET_UNAVAILABLE', 'DEFINITION_NOT_FOUND', 'SPENDING_LIMIT_REACHED', 'AGENT_BUSY')
  @Problems('RUN_QUEUE_FULL')
  async retry(@Param('id') id: string, @Res({ passthrough: true }) reply: FastifyReply): Promise<RunView> {
    return await this.waits.answer(reply, NO_WAIT, await this.commands.retry(httpCommandOf(reply.request), id));
  }
}
