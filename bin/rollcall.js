/** The program of `npm start`: builds dist/ if necessary, then runs the server in this process. */
const [major] = process.versions.node.split('.').map(Number);
if (major < 24) {
  console.error(
    `Rollcall needs Node 24, which npm has installed in node_modules; this is Node ${process.versions.node}.\n` +
      'Start it with: npm start',
  );
  process.exit(1);
}

// Under npm, the server must also stop when npm is killed and cannot forward the signal.
if (process.env.npm_lifecycle_event === 'start') {
  const { ppid } = process;
  setInterval(() => process.ppid !== ppid && process.kill(process.pid, 'SIGTERM'), 500).unref();
}

const { build } = await import('./build.js');
build();
process.setSourceMapsEnabled(true);
await import('../dist/apps/api/src/main.js');
