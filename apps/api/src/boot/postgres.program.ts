import { join, resolve } from 'node:path';
import { EmbeddedPostgres } from '#rollcall/platform';

/**
 * Runs an embedded Postgres for several replicas on this machine: `node postgres.program.js <folder>`. It prints `{"url": …}` when the
 * server accepts connections, and stops when its standard input ends. `rollcall demo` uses it.
 */
const folder = resolve(process.argv[2] ?? join('.rollcall', 'demo'));
const postgres = await EmbeddedPostgres.launch({ folder, onRestart: (reason) => process.stderr.write(`${reason}\n`) });
await postgres.ready();
process.stdout.write(`${JSON.stringify({ url: postgres.url() })}\n`);

let stopping = false;
async function stop(): Promise<void> {
  if (stopping) return;
  stopping = true;
  await postgres.stop();
  process.exit();
}
const onEnd = (): void => void stop();
process.stdin.on('end', onEnd).resume();
process.on('SIGTERM', onEnd);
process.on('SIGINT', () => {}); // Ctrl-C reaches the parent too, which ends the input when its replicas have stopped
