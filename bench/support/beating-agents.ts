/** Agents on sockets, in a separate process: each sends a heartbeat as soon as it has the result of the previous one. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { BenchAgent } from './fleet.js';

export interface BeatingOrder {
  url: string;
  fleet: BenchAgent[];
}

const BEAT = JSON.stringify({ event: 'beat', data: { inFlight: 3 } });
let beats = 0;
let beating = false;

process.on('message', (order: BeatingOrder | 'start' | 'stop') => {
  if (order === 'start') start();
  else if (order === 'stop') stop();
  else void connect(order);
});

const sockets: WebSocket[] = [];

async function connect({ url, fleet }: BeatingOrder): Promise<void> {
  for (const { agentId, leaseToken } of fleet) {
    const address = `${url.replace('http', 'ws')}/v1/agents/ws?agentId=${agentId}&generation=1`;
    const socket = new WebSocket(address, { headers: { authorization: `Bearer ${leaseToken}` } });
    await once(socket, 'message'); // the `welcome` frame
    socket.on('message', (text: Buffer) => {
      if (!text.includes('"beaten"')) throw new Error(`rejected: ${text.toString()}`);
      beats += 1;
      if (beating) socket.send(BEAT);
    });
    sockets.push(socket);
  }
  process.send?.('ready');
}

function start(): void {
  beats = 0;
  beating = true;
  for (const socket of sockets) socket.send(BEAT);
}

function stop(): void {
  beating = false;
  process.send?.(beats);
}
