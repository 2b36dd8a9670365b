/** What `npm start` runs: brings dist/ up to date, then becomes the server. */
const [major] = process.versions.node.split('.').map(Number);
if (major < 24) {
  console.error(
    `Rollcall runs on Node 24, which npm installed beside it; this is Node ${process.versions.node}.\n` +
      'Start it with: npm start',
  );
  process.exit(1);
}

const { build } = await import('./build.js');
build();
process.setSourceMapsEnabled(true);
await import('../dist/apps/api/src/main.js');
