import type { WebSocket } from 'ws';

const MAX_UNREAD_BYTES = 4 << 20;

/** Answers an invalid message. A client that sends messages without reading the responses is disconnected. */
export function sendProblem(socket: WebSocket, problem: Record<string, unknown>): void {
  if (socket.bufferedAmount > MAX_UNREAD_BYTES) return socket.terminate();
  socket.send(JSON.stringify({ event: 'error', data: problem }));
}
