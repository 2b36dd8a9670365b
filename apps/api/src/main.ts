// This check runs before any import, and old versions of Node can parse it.
if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write(`Rollcall needs Node 24 or newer; this is Node ${process.versions.node}.\n`);
  process.exit(1);
}

// Keeps the compiled code for the next start, if the folder is writable.
const { enableCompileCache } = await import('node:module');
enableCompileCache(`${import.meta.dirname}/../../../../node_modules/.cache/rollcall`);

const { nameSourcesInStackTraces } = await import('./boot/stack-traces.js');
nameSourcesInStackTraces();

const { readArguments } = await import('./boot/arguments.js');
const isMigration = process.argv[2] === 'migrate';
const args = readArguments(process.argv.slice(isMigration ? 3 : 2));
if ('print' in args) {
  (args.exitCode === 0 ? process.stdout : process.stderr).write(args.print);
  process.exit(args.exitCode);
}

const environment = { ...process.env, ...args.environment };
if (isMigration) {
  const { runMigrate } = await import('./boot/run.js');
  await runMigrate(environment, process.cwd());
}

// OpenTelemetry must patch modules before they are loaded, so tracing starts first.
const { startTracing } = await import('./telemetry/tracing.js');
const tracing = await startTracing(environment);
const { run } = await import('./boot/run.js');
await run(environment, process.cwd(), tracing);
