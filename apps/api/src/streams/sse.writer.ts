import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';

const SSE_HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' };

/** Begins a response with server-sent events. Returns undefined if no events can follow: for HEAD, and for a closed connection. */
export function beginSse(request: FastifyRequest, reply: FastifyReply): ServerResponse | undefined {
  void reply.headers(SSE_HEADERS);
  if (request.method === 'HEAD' || reply.raw.closed) {
    void reply.send();
    return undefined;
  }
  reply.hijack();
  return reply.raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders);
}
