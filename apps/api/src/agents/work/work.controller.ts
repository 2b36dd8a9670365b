import { Controller, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { TaskInbox } from '#rollcall/agent-runtime';
import { qualifiedId } from '#rollcall/platform';
import { AgentsService, type LeaseCredential } from '#rollcall/registry';
import { callerOf } from '../../auth/principal.js';
import { Permit } from '../../auth/route.access.js';
import { closeSignal } from '../../http/close.signal.js';
import { Problems } from '../../http/problems/problem.docs.js';
import { InFlight } from '../../http/server/in-flight.js';
import { Limits } from '../../http/server/routes.js';
import { Repeatable } from '../../mutation/mutation.js';
import { requiredOwner } from '../agent.credential.js';
import { AGENT_ID } from '../agents.examples.js';
import { readGeneration, readProgress, readResult, readTake } from './work.reader.js';
import {
  PROGRESS_EXAMPLES,
  TakeBody,
  TaskDeliveryView,
  TaskProgressBody,
  TaskReceiptView,
  TaskResultBody,
  toTaskView,
} from './work.view.js';

const CALL_ID = { name: 'callId', description: 'The id of the task.', example: '5f0c8d6e7a1b4c2d9e3f4a5b6c7d8e9f-1' };

/** How agents with `work: "pull"` receive tasks and report results over HTTP. */
@ApiTags('agents')
@Controller('agents/:id/tasks')
export class WorkController {
  constructor(
    private readonly inbox: TaskInbox,
    private readonly agents: AgentsService,
    private readonly inFlight: InFlight,
  ) {}

  @Post('take')
  @HttpCode(200)
  @Permit('agents:self')
  @Limits({ body: 'small', kind: 'waits' })
  @Repeatable()
  @ApiOperation({
    operationId: 'agents.takeTasks',
    summary: 'Take tasks',
    description:
      'For an agent with `work: "pull"`. Returns up to `max` tasks, and waits up to `waitMs` for the first one. The heartbeats of the agent ' +
      'keep its tasks. Requires the lease token of the agent, the key that registered it, or the permission of an operator.',
  })
  @ApiParam(AGENT_ID)
  @ApiBody({ type: TakeBody })
  @ApiOkResponse({ type: TaskDeliveryView, description: 'The tasks, or none if the time is over.' })
  @Problems('AGENT_NOT_PULL', 'AGENT_NOT_FOUND', 'REGISTER_AGAIN', 'STALE_GENERATION', 'GENERATION_AHEAD')
  @Problems('LEASE_TOKEN_REFUSED', 'NOT_THE_OWNER')
  async take(
    @Param('id') id: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<TaskDeliveryView> {
    const { generation, max: most, waitMs, holding } = readTake(request.body);
    const credential = await this.credentialOf(id, generation, request);
    if (waitMs > 0) this.inFlight.exempt(reply);
    const wanted = { credential, most, waitMs, signal: closeSignal(reply), ...(holding && { holding }) };
    const { tasks, cancelled } = await this.inbox.takeLater(wanted);
    return { tasks: tasks.map(toTaskView), cancelled };
  }

  @Post(':callId/progress')
  @HttpCode(200)
  @Permit('agents:self')
  @Repeatable()
  @ApiOperation({
    operationId: 'agents.reportProgress',
    summary: 'Report the progress of a task',
    description:
      'Passes a piece of the answer, or what the agent does, on to everybody who follows the run. It is not stored.',
  })
  @ApiParam(AGENT_ID)
  @ApiParam(CALL_ID)
  @ApiBody({ type: TaskProgressBody, examples: PROGRESS_EXAMPLES })
  @ApiOkResponse({ type: TaskReceiptView, description: 'The agent holds the task.' })
  @Problems('TASK_NOT_FOUND', 'TASK_FINISHED', 'TASK_CANCELLED', 'TASK_TOO_LATE', 'TASK_NOT_HELD', 'AGENT_NOT_FOUND')
  @Problems('REGISTER_AGAIN', 'STALE_GENERATION', 'GENERATION_AHEAD', 'LEASE_TOKEN_REFUSED', 'NOT_THE_OWNER')
  async progress(
    @Param('id') id: string,
    @Param('callId') callId: string,
    @Req() request: FastifyRequest,
  ): Promise<TaskReceiptView> {
    const { generation, rest } = readGeneration(request.body);
    const progress = readProgress(rest);
    await this.inbox.progress(await this.credentialOf(id, generation, request), callId, progress);
    return { callId, state: 'taken' };
  }

  @Post(':callId/result')
  @HttpCode(200)
  @Permit('agents:self')
  @Limits({ body: 'result' })
  @Repeatable()
  @ApiOperation({
    operationId: 'agents.reportResult',
    summary: 'Report the result of a task',
    description:
      'The response is sent after the commit, and any replica accepts the request. Repeat it until there is a response: the same result ' +
      'again gets the same response, and another one is rejected with `TASK_FINISHED`.',
  })
  @ApiParam(AGENT_ID)
  @ApiParam(CALL_ID)
  @ApiBody({ type: TaskResultBody })
  @ApiOkResponse({ type: TaskReceiptView, description: 'The result is stored.' })
  @Problems('TASK_NOT_FOUND', 'TASK_FINISHED', 'TASK_CANCELLED', 'TASK_TOO_LATE', 'TASK_NOT_HELD', 'AGENT_NOT_FOUND')
  @Problems('REGISTER_AGAIN', 'STALE_GENERATION', 'GENERATION_AHEAD', 'LEASE_TOKEN_REFUSED', 'NOT_THE_OWNER')
  async result(
    @Param('id') id: string,
    @Param('callId') callId: string,
    @Req() request: FastifyRequest,
  ): Promise<TaskReceiptView> {
    const { generation, rest } = readGeneration(request.body);
    const report = readResult(rest);
    await this.inbox.report(await this.credentialOf(id, generation, request), callId, report);
    return { callId, state: 'finished' };
  }

  /** The writes check the lease. The owner of a registration never changes, so it is checked before. */
  private async credentialOf(id: string, generation: number, request: FastifyRequest): Promise<LeaseCredential> {
    const caller = callerOf(request);
    const owner = requiredOwner(caller);
    const tokenHash = caller.leaseHash ?? null;
    const credential = { agentId: qualifiedId(caller.namespace, id), generation, tokenHash };
    if (owner === undefined) return credential;
    await this.agents.check({ ...credential, owner });
    return { ...credential, owner };
  }
}
