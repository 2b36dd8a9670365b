/** Loaded into the server by `--import`: collects garbage on request and reports the memory in use. */
import { setTimeout as delay } from 'node:timers/promises';

const ROUNDS = 3;

process.on('message', (message) => {
  if (message === 'heap') void answer();
});
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM')); // the server stops when the fuzzer ends or is killed
process.channel?.unref();

async function answer(): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    globalThis.gc?.();
    await delay(5); // time for finalizers and closed sockets
  }
  const { heapUsed, external } = process.memoryUsage();
  process.send?.({ heap: heapUsed + external });
}
