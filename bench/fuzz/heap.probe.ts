/** Loaded into the server by `--import`: collects garbage on request and answers what is left. */
import { setTimeout as delay } from 'node:timers/promises';

const ROUNDS = 3;

process.on('message', (message) => {
  if (message === 'heap') void answer();
});
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM')); // ends with the fuzzer, however that ends
process.channel?.unref();

async function answer(): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    globalThis.gc?.();
    await delay(5); // lets finalizers and closed sockets go
  }
  const { heapUsed, external } = process.memoryUsage();
  process.send?.({ heap: heapUsed + external });
}
