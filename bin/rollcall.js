/** What `npm start` runs: brings dist/ up to date, then becomes the server. */
const [major] = process.versions.node.split('.').map(Number);
if (major < 24) {
  console.error(
    `Rollcall runs on Node 24, which npm installed beside it; this is Node ${process.versions.node}.\n` +
      'Start it with: npm start',
  );
  process.exit(1);
}

// Started by npm, it ends with npm, even when npm is killed and cannot pass the signal on.
if (process.env.npm_lifecycle_event === 'start') {
  const { ppid } = process;
  setInterval(() => process.ppid !== ppid && process.kill(process.pid, 'SIGTERM'), 500).unref();
}

const { build } = await import('./build.js');
build();
process.setSourceMapsEnabled(true);
await import('../dist/apps/api/src/main.js');
