import { startTracing } from './telemetry/tracing.js';

// Traces first: the instrumentation must be in place before the modules it watches are loaded.
const tracing = await startTracing(process.env);
const { run } = await import('./boot/run.js');
await run(process.env, process.cwd(), tracing);
