import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { Logger } from '@nestjs/common';
import { toProblem } from '../http/problems/problem.js';
import { API_HEADERS } from '../http/server/server.js';
import { newRequestId } from '../http/server/request.context.js';

const log = new Logger('socket');

/** Rejects an upgrade request with an ordinary HTTP response and closes the connection. */
export function rejectUpgrade(socket: Duplex, error: unknown): void {
  const requestId = newRequestId();
  const { status, headers, body, unexpected } = toProblem(error, requestId);
  if (unexpected) log.error({ event: 'socket.unexpected_error', requestId, err: error });
  const text = JSON.stringify(body);
  const all = {
    ...API_HEADERS,
    ...headers,
    'x-request-id': requestId,
    'content-length': String(Buffer.byteLength(text)),
    connection: 'close',
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${text}`);
}
