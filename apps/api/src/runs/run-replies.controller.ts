import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { ApiAcceptedResponse, ApiBody, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { RunsService } from '#rollcall/agent-runtime';
import { message } from '#rollcall/providers';
import { Caller } from '../auth/caller.js';
import type { Principal } from '../auth/principal.js';
import { Permit } from '../auth/route.access.js';
import { NoInput } from '../http/no-input.guard.js';
import { Problems } from '../http/problems.js';
import { Effect } from '../mutation/effect.js';
import { Mutation } from '../mutation/mutation.js';
import { DecisionBody } from './run-replies.dto.js';
import { actorOf } from './run.request.js';
import { RunView, toRunView } from './run.view.js';
import { MessageBody } from './runs.dto.js';
import { DECISION_EXAMPLES, RUN_ID } from './runs.examples.js';

/** Continues runs that wait, and repeats runs that are finished. */
@ApiTags('runs')
@Controller('runs')
export class RunRepliesController {
  constructor(private readonly runs: RunsService) {}

  @Post(':id/messages')
  @HttpCode(202)
  @Permit('runs:start')
  @Mutation({ audit: 'run.continued' })
  @ApiOperation({
    operationId: 'runs.sendMessage',
    summary: 'Answer a question of a run',
    description:
      'Continues the conversation of a run that waits for `input` or `approval`. Calls that wait for an approval are then not ' +
      'executed. Without the permission `runs:manage`, the caller must have started the run.',
  })
  @ApiParam(RUN_ID)
  @ApiBody({ type: MessageBody })
  @ApiAcceptedResponse({ type: RunView, description: 'The run, which is queued again.' })
  @Problems('RUN_NOT_FOUND', 'RUN_FINISHED', 'RUN_NOT_WAITING', 'RUN_DELEGATED', 'RUN_FOREIGN')
  async message(
    @Param('id') id: string,
    @Body() { input, data }: MessageBody,
    @Caller() caller: Principal,
  ): Promise<RunView> {
    const { parts } = message(input, data);
    return toRunView(await this.runs.continue({ namespace: caller.namespace, id }, parts, actorOf(caller)));
  }

  @Post(':id/approvals')
  @HttpCode(202)
  @Permit('runs:start')
  @Mutation({ audit: 'run.decided', record: ['callId', 'inputHash', 'approved', 'reason'] })
  @ApiOperation({
    operationId: 'runs.decide',
    summary: 'Approve or reject a call',
    description:
      'Decides about one of the calls in `result.approvals`. The decision applies to exactly the input of this call. The run ' +
      'continues, and waits again if other calls need a decision. Without the permission `runs:manage`, the caller must have ' +
      'started the run.',
  })
  @ApiParam(RUN_ID)
  @ApiBody({ type: DecisionBody, examples: DECISION_EXAMPLES })
  @ApiAcceptedResponse({ type: RunView, description: 'The run, which is queued again.' })
  @Problems('RUN_NOT_FOUND', 'RUN_FINISHED', 'RUN_NOT_WAITING', 'RUN_DECISION_MISMATCH', 'RUN_DELEGATED', 'RUN_FOREIGN')
  async decide(@Param('id') id: string, @Body() body: DecisionBody, @Caller() caller: Principal): Promise<RunView> {
    return toRunView(await this.runs.approve({ namespace: caller.namespace, id }, body, actorOf(caller)));
  }

  @Post(':id/retry')
  @NoInput()
  @HttpCode(202)
  @Permit('runs:start')
  @Mutation({ audit: 'run.retried', prepares: true, recordResult: { id: 'newRunId', agentId: 'agentId' } })
  @ApiOperation({
    operationId: 'runs.retry',
    summary: 'Repeat a finished run',
    description:
      'Starts a new run with the target, the input and the budget of a finished run, but without its deadline. The finished run ' +
      'does not change.',
  })
  @ApiParam(RUN_ID)
  @ApiAcceptedResponse({
    type: RunView,
    description: 'The new run, which is queued, or running if this replica has room.',
  })
  @Problems('RUN_NOT_FOUND', 'RUN_NOT_FINISHED', 'RUN_DELEGATED', 'RUN_TARGET_MISSING', 'RUN_TARGET_UNKNOWN')
  @Problems('RUN_REDACTED', 'RUN_TARGET_UNAVAILABLE', 'DEFINITION_NOT_FOUND', 'SPENDING_LIMIT_REACHED', 'AGENT_BUSY')
  @Problems('RUN_QUEUE_FULL')
  async retry(@Param('id') id: string, @Caller() caller: Principal): Promise<Effect<RunView>> {
    const insert = await this.runs.prepareRetry({ namespace: caller.namespace, id }, actorOf(caller));
    return new Effect(async () => toRunView(await insert()));
  }
}
