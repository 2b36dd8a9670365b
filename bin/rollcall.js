#!/usr/bin/env node
/** The program of `npm start` and of the command `rollcall`: builds dist/ if it has the sources, then runs the server in this process. */
import { existsSync } from 'node:fs';

const sources = existsSync(new URL('../apps', import.meta.url));
const [major] = process.versions.node.split('.').map(Number);
if (major < 24) {
  console.error(
    sources
      ? `Rollcall needs Node 24, which npm has installed in node_modules; this is Node ${process.versions.node}.\nStart it with: npm start`
      : `Rollcall needs Node 24 or newer; this is Node ${process.versions.node}.`,
  );
  process.exit(1);
}

// Under npm, the server must also stop when npm is killed and cannot forward the signal.
if (process.env.npm_lifecycle_event === 'start') {
  const { ppid } = process;
  setInterval(() => process.ppid !== ppid && process.kill(process.pid, 'SIGTERM'), 500).unref();
}

if (sources) {
  const { build } = await import('./build.js');
  build();
}
await import('../dist/apps/api/src/main.js');
