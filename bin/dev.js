/**
 * The program of `npm run dev`: runs the server. After a change of the sources, it compiles them and starts the server again. The
 * server stops in order first, so that its Postgres stops in order too.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { watch } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { build } from './build.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** An editor may write several files, or one file several times. */
const QUIET_MS = 200;

let server = start();
let restarting = false;
let changed = false;

for (const folder of ['apps', 'libs']) {
  watch(join(ROOT, folder), { recursive: true }, (_event, file) => {
    if (!file?.endsWith('.ts') || file.endsWith('spec.ts')) return;
    changed = true;
    void restart();
  });
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void stop().then(() => process.exit()));

function start() {
  const flags = ['--max-semi-space-size=64', join(ROOT, 'bin/rollcall.js'), 'start', ...process.argv.slice(2)];
  return spawn(process.execPath, flags, { stdio: 'inherit' });
}

async function stop() {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const exit = once(server, 'exit');
  server.kill('SIGTERM');
  await exit;
}

async function restart() {
  if (restarting) return;
  restarting = true;
  while (changed) {
    changed = false;
    await delay(QUIET_MS);
    if (changed || !compiles()) continue;
    console.log('The sources have changed: the server starts again.');
    await stop();
    server = start();
  }
  restarting = false;
}

/** Returns false after a syntax error, which the compiler prints. The running server then continues. */
function compiles() {
  try {
    build();
    return true;
  } catch {
    return false;
  }
}
