/**
 * A subprocess agent whose calls end when a file exists. It records the ids of its calls in another file, because standard output is used
 * for the protocol.
 */
import { appendFileSync, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [, , journal, gate] = process.argv;
const CHECK_EVERY_MS = 20;
const write = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const cancelled = new Set();

createInterface({ input: process.stdin }).on('line', (line) => {
  const { type, id, callId = id, text } = JSON.parse(line);
  if (type === 'cancel') cancelled.add(id);
  if (type === 'cancel') write({ id, type: 'error', message: 'cancelled' });
  if (type !== 'message') return;
  appendFileSync(journal, `${callId}\n`);
  const timer = setInterval(() => {
    if (existsSync(gate) && !cancelled.has(id)) write({ id, type: 'result', text: `did ${text}` });
    if (existsSync(gate) || cancelled.has(id)) clearInterval(timer);
  }, CHECK_EVERY_MS);
});
