/** Many WebSocket consumers in a separate process. The first one parses its frames, the others count bytes. */
import { once } from 'node:events';
import { WebSocket } from 'ws';

export interface SubscribersReport {
  /** The time from the first frame to the last, over all consumers. */
  ms: number;
  /** For each event, the time from just before its commit to its arrival. */
  latencies: number[];
  /** The frames of the first consumer. */
  frames: string[];
}

const [url = '', authorization = '', count = '1', expected = '0'] = process.argv.slice(2);
const sockets = Array.from({ length: Number(count) }, () => new WebSocket(url, { headers: { authorization } }));
await Promise.all(sockets.map(async (socket) => await once(socket, 'open')));

const report: SubscribersReport = { ms: 0, latencies: [], frames: [] };
const received = sockets.map(() => 0);
let first = 0;
let total = 0;
let wanted = Infinity;

const now = (): number => performance.timeOrigin + performance.now();

function parse(text: Buffer): void {
  const frame = JSON.parse(text.toString()) as { event: string; data: { data: { by: string } }[] };
  if (frame.event !== 'events') return;
  const arrived = now();
  report.latencies.push(...frame.data.map(({ data }) => arrived - Number(data.by)));
  report.frames.push(text.toString());
  if (report.latencies.length === Number(expected)) wanted = (received[0] ?? 0) * sockets.length;
}

let confirmed = 0;
function confirm(text: Buffer): void {
  if (text.includes('subscribed') && ++confirmed === sockets.length) process.send?.('ready');
}

sockets.forEach((socket, index) => {
  socket.on('message', (text: Buffer) => {
    if (text.length < 100) return confirm(text);
    first ||= now();
    received[index] = (received[index] ?? 0) + text.length;
    total += text.length;
    if (index === 0) parse(text);
    report.ms = now() - first;
    if (total >= wanted) process.send?.(report);
  });
  socket.send(JSON.stringify({ event: 'subscribe', data: { after: 'latest' } }));
});
