import {
  AgentCard,
  formatSSEErrorEvent,
  formatSSEEvent,
  SendMessageRequest,
  SSE_HEADERS,
  StreamResponse,
  Task,
} from '@a2a-js/sdk';
import { restStatusFor, toRestErrorBody } from '@a2a-js/sdk/errors';
import type { A2ARequestHandler, ServerCallContext } from '@a2a-js/sdk/server';
import type { ServerResponse } from 'node:http';
import type { RecordedRequest } from '../local-server.js';
import { cardFor, contextOf, type A2aWire } from './a2a.wire.js';

const TASK = /^\/rest\/tasks\/([^/:?]+)(:cancel)?(?:\?.*)?$/;

/** HTTP+JSON with the handler of the SDK. The router of the SDK is not used, because it needs Express. */
export const restWire: A2aWire = {
  name: 'HTTP+JSON',
  card: ({ url, streaming }) => cardFor(`${url}/rest`, streaming, 'HTTP+JSON'),
  cardJson: (card) => AgentCard.toJSON(card),
  serve: (handler) => async (request, response) => {
    response.setHeader('content-type', 'application/a2a+json');
    try {
      const context = contextOf(request);
      if (request.path === '/rest/message:stream') return await stream(handler, { request, response, context });
      return response.end(JSON.stringify(await answer(handler, request, context)));
    } catch (error) {
      const status = restStatusFor(error);
      return response.writeHead(status).end(JSON.stringify(toRestErrorBody(error, status)));
    }
  },
};

async function answer(handler: A2ARequestHandler, { path, body }: RecordedRequest, context: ServerCallContext) {
  if (path === '/rest/message:send') {
    const sent = await handler.sendMessage(SendMessageRequest.fromJSON(body), context);
    const payload = 'messageId' in sent ? { $case: 'message', value: sent } : { $case: 'task', value: sent };
    return StreamResponse.toJSON({ payload } as StreamResponse);
  }
  const [, id = '', cancels] = TASK.exec(path) ?? [];
  const task = cancels
    ? await handler.cancelTask({ tenant: '', id, metadata: undefined }, context)
    : await handler.getTask({ tenant: '', id }, context);
  return Task.toJSON(task);
}

interface Exchange {
  request: RecordedRequest;
  response: ServerResponse;
  context: ServerCallContext;
}

async function stream(handler: A2ARequestHandler, { request, response, context }: Exchange): Promise<unknown> {
  const events = handler.sendMessageStream(SendMessageRequest.fromJSON(request.body), context);
  response.on('close', () => void events.return(undefined));
  const first = await events.next(); // if this throws, the error is sent as an HTTP status
  response.writeHead(200, SSE_HEADERS);
  try {
    if (!first.done) response.write(formatSSEEvent(StreamResponse.toJSON(first.value)));
    for await (const event of events) response.write(formatSSEEvent(StreamResponse.toJSON(event)));
  } catch (error) {
    response.write(formatSSEErrorEvent(toRestErrorBody(error, restStatusFor(error))));
  }
  return response.end();
}
