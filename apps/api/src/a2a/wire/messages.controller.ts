import { AgentCard, Message, Task } from '@a2a-js/sdk';
import { Controller, Get, HttpCode, Post, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { permit } from '../../auth/auth.guard.js';
import { Permit } from '../../auth/route.access.js';
import { InFlight } from '../../http/server/in-flight.js';
import { Limits, routeConfig } from '../../http/server/routes.js';
import { restErrorOf, restErrors } from '../a2a.errors.js';
import { A2aHandlers } from '../a2a.handler.js';
import type { Address } from '../incoming.calls.js';
import { isMessage } from '../messages/messages.service.js';
import { permissionToSend } from '../messages/root.skills.js';
import { A2aStreams } from './a2a.streams.js';
import { Addressed, eventsToJson, readSendMessage, reply200, REST_PATHS, sentIn } from './rest.codec.js';
import { SelfAudited } from '../../mutation/mutation.js';
import { callerOf } from '../../auth/principal.js';

/** The HTTP+JSON binding of A2A: messages and the extended card. The required permission depends on the message. */
@ApiExcludeController()
@Controller(REST_PATHS)
@routeConfig({ errorFormat: restErrors })
export class MessagesController {
  constructor(
    private readonly handlers: A2aHandlers,
    private readonly streams: A2aStreams,
    private readonly inFlight: InFlight,
  ) {}

  @Post('message::send')
  @HttpCode(200)
  @Permit('agents:read')
  @Limits({ kind: 'waits' })
  @SelfAudited('run.started')
  async send(@Addressed() address: Address, @Res() reply: FastifyReply): Promise<void> {
    const body = sentIn(reply.request);
    permit(callerOf(reply.request), permissionToSend(address, body));
    const handler = await this.handlers.open(reply, address, 'HTTP+JSON');
    const params = readSendMessage(body);
    this.inFlight.exempt(reply);
    const sent = await handler.sendMessage(params);
    reply200(reply, isMessage(sent) ? { message: Message.toJSON(sent) } : { task: Task.toJSON(sent) });
  }

  @Post('message::stream')
  @HttpCode(200)
  @Permit('agents:read')
  @Limits({ kind: 'streams' })
  @SelfAudited('run.started')
  async stream(@Addressed() address: Address, @Res() reply: FastifyReply): Promise<void> {
    const body = sentIn(reply.request);
    permit(callerOf(reply.request), permissionToSend(address, body));
    const handler = await this.handlers.open(reply, address, 'HTTP+JSON');
    const events = handler.sendMessageStream(readSendMessage(body));
    await this.streams.send(reply, eventsToJson(events), (error) => restErrorOf(error).body);
  }

  @Get('extendedAgentCard')
  @Permit('agents:read')
  async extendedCard(@Addressed() address: Address, @Res() reply: FastifyReply): Promise<void> {
    const handler = await this.handlers.open(reply, address, 'HTTP+JSON');
    reply200(reply, AgentCard.toJSON(await handler.getAuthenticatedExtendedAgentCard()));
  }
}
