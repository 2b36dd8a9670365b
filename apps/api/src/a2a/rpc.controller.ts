import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import { JsonRpcTransportHandler, ServerCallContext } from '@a2a-js/sdk/server';
import { Controller, HttpCode, Param, Post, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { callerOf } from '../auth/caller.js';
import { Permit } from '../auth/route.access.js';
import { permit } from '../auth/auth.guard.js';
import { InFlight } from '../http/server/in-flight.js';
import { SelfAudited } from '../mutation/self-audited.js';
import { A2aCalls } from './a2a.calls.js';
import { a2aProblemOf } from './a2a.errors.js';
import { rpcErrorOf, rpcErrors } from './error.format.js';
import { keepErrors } from './kept.errors.js';
import { isLegacy } from './protocol.version.js';
import { checkParams, methodOf, permissionOf, readRpcRequest, type RpcRequest, SENDS } from './rpc.request.js';
import { SseStreams } from './sse.streams.js';
import { Limits, routeConfig } from '../http/server/routes.js';

/** The JSON-RPC binding of A2A, for Rollcall itself and for each agent. Each JSON-RPC method also requires its own permission. */
@ApiExcludeController()
@Controller(['a2a', 'a2a/agents/:agentId'])
@Permit('agents:read')
@Limits({ kind: 'waits' })
@routeConfig({ errorFormat: rpcErrors })
export class RpcController {
  constructor(
    private readonly calls: A2aCalls,
    private readonly streams: SseStreams,
    private readonly inFlight: InFlight,
  ) {}

  @Post()
  @HttpCode(200)
  @SelfAudited('depends on the JSON-RPC method')
  async call(@Param('agentId') agentId: string | undefined, @Res() reply: FastifyReply): Promise<void> {
    const rpc = readRpcRequest(reply.request.body);
    try {
      await this.answer(rpc, agentId, reply);
    } catch (error) {
      const { status, headers, body } = rpcErrors(error, a2aProblemOf(error, reply.request.id));
      if (!reply.sent)
        void reply
          .code(status)
          .headers(headers)
          .send({ ...body, id: rpc.id });
    }
  }

  private async answer(rpc: RpcRequest, agentId: string | undefined, reply: FastifyReply): Promise<void> {
    const { params, id } = rpc;
    const legacy = isLegacy(reply.request);
    const method = methodOf(rpc, legacy);
    const address = { agentId, tenant: params?.tenant };
    permit(callerOf(reply.request), permissionOf(method, address, params));
    const handler = await this.calls.open(reply, address, 'JSONRPC');
    checkParams(method, params, legacy);
    if (SENDS.has(method)) this.inFlight.exempt(reply);
    let failure: { error: unknown } | undefined;
    const kept = keepErrors(handler, (error) => (failure = { error }));
    const transport = legacy ? new LegacyJsonRpcTransportHandler(kept) : new JsonRpcTransportHandler(kept);
    const response = await transport.handle({ ...rpc }, new ServerCallContext());
    if (failure) throw failure.error;
    if (!(Symbol.asyncIterator in response)) return void reply.send(response);
    await this.streams.send(reply, response, (error) => ({ jsonrpc: '2.0', id, error: rpcErrorOf(error) }));
  }
}
