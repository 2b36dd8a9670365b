import { AgentCard, formatSSEErrorEvent, formatSSEEvent, SSE_HEADERS } from '@a2a-js/sdk';
import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import { JsonRpcTransportHandler, type ServerCallContext } from '@a2a-js/sdk/server';
import type { ServerResponse } from 'node:http';
import type { RecordedRequest } from '../local-server.js';
import { cardFor, contextOf, type A2aWire } from './a2a.wire.js';

interface Rpc {
  handle(body: Record<string, unknown>, context: ServerCallContext): Promise<object | AsyncGenerator<object>>;
}

export const jsonRpcWire: A2aWire = {
  name: 'JSON-RPC',
  card: ({ url, streaming }) => cardFor(`${url}/rpc`, streaming, 'JSONRPC'),
  cardJson: (card) => AgentCard.toJSON(card),
  serve: (handler) => {
    const rpc = new JsonRpcTransportHandler(handler);
    const explain = (error: unknown): unknown => JsonRpcTransportHandler.mapToJSONRPCError(error);
    return async (request, response) => await answer(rpc, { request, response, context: contextOf(request), explain });
  },
};

/** Version 0.3 of the protocol, which many agents still use. */
export const legacyJsonRpcWire: A2aWire = {
  name: 'JSON-RPC 0.3',
  card: ({ url, streaming }) => cardFor(`${url}/rpc`, streaming, 'JSONRPC', '0.3'),
  cardJson: ({ supportedInterfaces, capabilities, ...card }) => ({
    name: card.name,
    description: card.description,
    version: card.version,
    protocolVersion: '0.3.0',
    url: supportedInterfaces[0]?.url,
    preferredTransport: 'JSONRPC',
    capabilities: { streaming: capabilities?.streaming },
    defaultInputModes: card.defaultInputModes,
    defaultOutputModes: card.defaultOutputModes,
    skills: [],
  }),
  serve: (handler) => {
    const rpc = new LegacyJsonRpcTransportHandler(handler);
    const explain = (error: unknown): unknown => LegacyJsonRpcTransportHandler.mapToLegacyJSONRPCError(error);
    return async (request, response) =>
      await answer(rpc, { request, response, context: contextOf(request, '0.3'), explain });
  },
};

interface Exchange {
  request: RecordedRequest;
  response: ServerResponse;
  context: ServerCallContext;
  explain(error: unknown): unknown;
}

async function answer(rpc: Rpc, { request, response, context, explain }: Exchange): Promise<unknown> {
  const result = await rpc.handle(request.body as Record<string, unknown>, context);
  if (!(Symbol.asyncIterator in result)) {
    response.setHeader('content-type', 'application/json');
    return response.end(JSON.stringify(result));
  }
  response.on('close', () => void result.return(undefined));
  response.writeHead(200, SSE_HEADERS);
  try {
    for await (const event of result) response.write(formatSSEEvent(event));
  } catch (error) {
    const { id } = request.body as { id: string };
    response.write(formatSSEErrorEvent({ jsonrpc: '2.0', id, error: explain(error) }));
  }
  return response.end();
}
