import type { WebSocket } from 'ws';

const MOST_UNREAD_BYTES = 4 << 20;

/** Says what was wrong with a message. Whoever goes on asking and does not read the answers is not listened to any more. */
export function sendProblem(socket: WebSocket, problem: Record<string, unknown>): void {
  if (socket.bufferedAmount > MOST_UNREAD_BYTES) return socket.terminate();
  socket.send(JSON.stringify({ event: 'error', data: problem }));
}
