import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import { type A2ARequestHandler, JsonRpcTransportHandler, ServerCallContext } from '@a2a-js/sdk/server';
import { Controller, HttpCode, Param, Post, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { permit } from '../../auth/auth.guard.js';
import { Permit } from '../../auth/route.access.js';
import { InFlight } from '../../http/server/in-flight.js';
import { Limits, routeConfig } from '../../http/server/routes.js';
import { a2aProblemOf, rpcErrorOf, rpcErrors } from '../a2a.errors.js';
import { A2aHandlers } from '../a2a.handler.js';
import { isLegacy } from '../protocol.version.js';
import { A2aStreams } from './a2a.streams.js';
import {
  checkParams,
  idIn,
  methodOf,
  permissionOf,
  readRpcRequest,
  type RpcRequest,
  SENDS,
  tenantIn,
} from './rpc.request.js';
import { SelfAudited } from '../../mutation/mutation.js';
import { callerOf } from '../../auth/principal.js';

/** The JSON-RPC binding of A2A, for Rollcall itself and for each agent. Each JSON-RPC method also requires its own permission. */
@ApiExcludeController()
@Controller(['a2a', 'a2a/agents/:agentId'])
@Permit('agents:read')
@Limits({ kind: 'waits' })
@routeConfig({ errorFormat: rpcErrors })
export class RpcController {
  constructor(
    private readonly handlers: A2aHandlers,
    private readonly streams: A2aStreams,
    private readonly inFlight: InFlight,
  ) {}

  @Post()
  @HttpCode(200)
  @SelfAudited('depends on the JSON-RPC method')
  async call(@Param('agentId') agentId: string | undefined, @Res() reply: FastifyReply): Promise<void> {
    const { request } = reply;
    try {
      const legacy = isLegacy(request);
      await this.answer(readRpcRequest(request.body, legacy), { agentId, legacy }, reply);
    } catch (error) {
      const { status, headers, body } = rpcErrors(error, a2aProblemOf(error, request.id));
      if (!reply.sent)
        void reply
          .code(status)
          .headers(headers)
          .send({ ...body, id: idIn(request.body) });
    }
  }

  private async answer(
    rpc: RpcRequest,
    { agentId, legacy }: { readonly agentId?: string; readonly legacy: boolean },
    reply: FastifyReply,
  ): Promise<void> {
    const { params, id } = rpc;
    const method = methodOf(rpc, legacy);
    const address = { agentId, ...tenantIn(params) };
    permit(callerOf(reply.request), permissionOf(method, address, params));
    const handler = await this.handlers.open(reply, address, 'JSONRPC');
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

/**
 * Passes each error of a handler to `keep`, because the transport of the SDK keeps only the message of an error. An error of a stream
 * reaches the reader of the stream anyway.
 */
function keepErrors(handler: A2ARequestHandler, keep: (error: unknown) => void): A2ARequestHandler {
  return new Proxy(handler, {
    get: (target, name) => {
      const method = Reflect.get(target, name) as (...parameters: unknown[]) => unknown;
      return (...parameters: unknown[]): unknown => {
        const result = method.apply(target, parameters);
        if (!(result instanceof Promise)) return result;
        return result.catch((error: unknown) => {
          keep(error);
          throw error;
        });
      };
    },
  });
}
