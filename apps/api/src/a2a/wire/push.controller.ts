import { ListTaskPushNotificationConfigsRequest, TaskPushNotificationConfig } from '@a2a-js/sdk';
import { Controller, Delete, Get, HttpCode, Param, Post, Query, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Permit } from '../../auth/route.access.js';
import { routeConfig } from '../../http/server/routes.js';
import { restErrors } from '../a2a.errors.js';
import { A2aHandlers } from '../a2a.handler.js';
import type { Address } from '../incoming.calls.js';
import { fromProtoJson } from './proto.json.js';
import { Addressed, reply200, REST_PATHS, sentIn, toNumber } from './rest.codec.js';
import { SelfAudited } from '../../mutation/mutation.js';

const CONFIGS = 'tasks/:id/pushNotificationConfigs';

interface ConfigPath {
  readonly id: string;
  readonly configId: string;
}

/** The HTTP+JSON binding of A2A: push notifications. */
@ApiExcludeController()
@Controller(REST_PATHS)
@routeConfig({ errorFormat: restErrors })
export class PushController {
  constructor(private readonly handlers: A2aHandlers) {}

  @Post(CONFIGS)
  @Permit('runs:start')
  @SelfAudited('run.push_created')
  async create(@Addressed() address: Address, @Param('id') taskId: string, @Res() reply: FastifyReply): Promise<void> {
    const handler = await this.handlers.open(reply, address, 'HTTP+JSON');
    const params = TaskPushNotificationConfig.fromJSON({ ...(sentIn(reply.request) as object | undefined), taskId });
    const created = await handler.createTaskPushNotificationConfig(params);
    reply200(reply.code(201), TaskPushNotificationConfig.toJSON(created));
  }

  @Get(CONFIGS)
  @Permit('runs:read')
  async list(
    @Addressed() address: Address,
    @Param('id') taskId: string,
    @Query() query: Readonly<Record<string, unknown>>,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const handler = await this.handlers.open(reply, address, 'HTTP+JSON');
    const { pageSize = '0', pageToken = '' } = fromProtoJson(query) as typeof query;
    const wanted = { taskId, pageSize: toNumber(pageSize), pageToken };
    const page = await handler.listTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest.fromJSON(wanted));
    const configs = page.configs.map((one) => TaskPushNotificationConfig.toJSON(one));
    reply200(reply, { configs, nextPageToken: page.nextPageToken });
  }

  @Get(`${CONFIGS}/:configId`)
  @Permit('runs:read')
  async get(
    @Addressed() address: Address,
    @Param() { id: taskId, configId: id }: ConfigPath,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const handler = await this.handlers.open(reply, address, 'HTTP+JSON');
    const config = await handler.getTaskPushNotificationConfig({ tenant: '', taskId, id });
    reply200(reply, TaskPushNotificationConfig.toJSON(config));
  }

  @Delete(`${CONFIGS}/:configId`)
  @HttpCode(204)
  @Permit('runs:start')
  @SelfAudited('run.push_deleted')
  async remove(
    @Addressed() address: Address,
    @Param() { id: taskId, configId: id }: ConfigPath,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const handler = await this.handlers.open(reply, address, 'HTTP+JSON');
    await handler.deleteTaskPushNotificationConfig({ tenant: '', taskId, id });
    void reply.code(204).send();
  }
}
