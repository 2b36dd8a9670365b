/** A bare `ws` server that sends given frames to all connected clients as fast as they read. */
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTick } from 'node:timers/promises';
import { WebSocketServer } from 'ws';

const BUFFER = 1 << 20;
const frames = (JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as string[]).map((text) => Buffer.from(text));
const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });

async function broadcast(): Promise<void> {
  for (const frame of frames) {
    for (const client of server.clients) client.send(frame, { binary: false });
    while ([...server.clients].some((client) => client.bufferedAmount > BUFFER)) await nextTick();
  }
}

server.on('connection', (client) => client.on('message', () => client.send('{"event":"subscribed"}')));
server.on('listening', () => process.send?.(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`));
process.on('message', () => void broadcast());
