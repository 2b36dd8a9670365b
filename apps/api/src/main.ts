// Nothing is imported before this check, and its syntax is one that an old Node understands.
if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write(`Rollcall needs Node 24 or newer; this is Node ${process.versions.node}.\n`);
  process.exit(1);
}

// Traces first: the instrumentation must be in place before the modules it watches are loaded.
const { startTracing } = await import('./telemetry/tracing.js');
const tracing = await startTracing(process.env);
const { run } = await import('./boot/run.js');
await run(process.env, process.cwd(), tracing);
