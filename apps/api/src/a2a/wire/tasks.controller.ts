import { Task } from '@a2a-js/sdk';
import { Controller, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Permit } from '../../auth/route.access.js';
import { Limits, routeConfig } from '../../http/server/routes.js';
import { restErrorOf, restErrors } from '../a2a.errors.js';
import { A2aHandlers } from '../a2a.handler.js';
import type { Address } from '../incoming.calls.js';
import { A2aStreams } from './a2a.streams.js';
import { fromProtoJson } from './proto.json.js';
import { Addressed, eventsToJson, pageToJson, readListTasks, reply200, REST_PATHS, toNumber } from './rest.codec.js';
import { Repeatable, SelfAudited } from '../../mutation/mutation.js';

/** The pattern keeps the verb after the colon out of the id. */
const TASK = 'tasks/:id(^[^:/]+)';

type TaskQuery = Readonly<Record<string, unknown>>;

/** The HTTP+JSON binding of A2A: tasks. */
@ApiExcludeController()
@Controller(REST_PATHS)
@routeConfig({ errorFormat: restErrors })
export class TasksController {
  constructor(
    private readonly handlers: A2aHandlers,
    private readonly streams: A2aStreams,
  ) {}

  @Get('tasks')
  @Permit('runs:read')
  async list(@Addressed() address: Address, @Query() query: TaskQuery, @Res() reply: FastifyReply): Promise<void> {
    const handler = await this.handlers.open(reply, address, 'HTTP+JSON');
    const params = readListTasks(query);
    reply200(reply, pageToJson(await handler.listTasks(params), params.includeArtifacts));
  }

  @Get('tasks/:id')
  @Permit('runs:read')
  async get(
    @Addressed() address: Address,
    @Param('id') id: string,
    @Query() query: TaskQuery,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const handler = await this.handlers.open(reply, address, 'HTTP+JSON');
    const { historyLength: given } = fromProtoJson(query) as TaskQuery;
    const historyLength = toNumber(given);
    reply200(reply, Task.toJSON(await handler.getTask({ tenant: '', id, historyLength })));
  }

  @Post(`${TASK}::cancel`)
  @HttpCode(200)
  @Permit('runs:start')
  @SelfAudited('run.cancelled')
  async cancel(@Addressed() address: Address, @Param('id') id: string, @Res() reply: FastifyReply): Promise<void> {
    const handler = await this.handlers.open(reply, address, 'HTTP+JSON');
    reply200(reply, Task.toJSON(await handler.cancelTask({ tenant: '', id, metadata: undefined })));
  }

  @Get(`${TASK}::subscribe`)
  @Permit('runs:read')
  @Limits({ kind: 'streams' })
  async subscribe(@Addressed() address: Address, @Param('id') id: string, @Res() reply: FastifyReply): Promise<void> {
    const handler = await this.handlers.open(reply, address, 'HTTP+JSON');
    const events = eventsToJson(handler.resubscribe({ tenant: '', id }));
    await this.streams.send(reply, events, (error) => restErrorOf(error).body);
  }

  /** The specification defines this operation for both GET and POST. */
  @Post(`${TASK}::subscribe`)
  @HttpCode(200)
  @Permit('runs:read')
  @Limits({ kind: 'streams' })
  @Repeatable()
  async subscribeByPost(
    @Addressed() address: Address,
    @Param('id') id: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.subscribe(address, id, reply);
  }
}
