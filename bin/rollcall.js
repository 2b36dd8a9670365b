#!/usr/bin/env node
/**
 * The command `rollcall`. `rollcall start`, which is also `npm start`, runs the server in this process; all other commands are in apps/cli.
 * In a checkout, it builds dist/ first if the sources have changed.
 */
import { existsSync } from 'node:fs';

const sources = existsSync(new URL('../apps', import.meta.url));
const [major] = process.versions.node.split('.').map(Number);
if (major < 24) {
  console.error(
    sources
      ? `Rollcall needs Node 24, which npm has installed in node_modules; this is Node ${process.versions.node}.\nUse: npm start, or for other commands: npx rollcall`
      : `Rollcall needs Node 24 or newer; this is Node ${process.versions.node}.\nInstall it, or use it only in this folder: npm install node@24, and then: npx rollcall`,
  );
  process.exit(1);
}

if (sources) {
  const { build } = await import('./build.js');
  build();
}
const asksForHelp = process.argv.includes('--help') || process.argv.includes('-h');
if (process.argv[2] === 'start' && !asksForHelp) await startServer();
else if (process.argv[2] === 'migrate' && !asksForHelp) await import('../dist/apps/api/src/main.js');
else await runCommand();

async function startServer() {
  // Under npm, the server must also stop when npm is killed and cannot forward the signal.
  if (process.env.npm_lifecycle_event === 'start') {
    const { ppid } = process;
    setInterval(() => process.ppid !== ppid && process.kill(process.pid, 'SIGTERM'), 500).unref();
  }
  process.argv.splice(2, 1);
  await import('../dist/apps/api/src/main.js');
}

async function runCommand() {
  const { enableCompileCache } = await import('node:module'); // Node 20 has no such export
  enableCompileCache(`${import.meta.dirname}/../node_modules/.cache/rollcall`);
  const { main } = await import('../dist/apps/cli/src/main.js');
  const { processIo } = await import('../dist/apps/cli/src/io.js');
  process.exitCode = await main(process.argv.slice(2), processIo());
}
