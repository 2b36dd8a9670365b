// This check runs before any import, and old versions of Node can parse it.
if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write(`Rollcall needs Node 24 or newer; this is Node ${process.versions.node}.\n`);
  process.exit(1);
}

// OpenTelemetry must patch modules before they are loaded, so tracing starts first.
const { startTracing } = await import('./telemetry/tracing.js');
const tracing = await startTracing(process.env);
const { run } = await import('./boot/run.js');
await run(process.env, process.cwd(), tracing);
