/**
 * Rollcall as `bin/rollcall.js` starts it, but with other constants (see config.constants.ts): `node replica.js '{"webhooks":{"tries":1}}'`.
 */
import { build } from '../../bin/build.js';

build();
const { startTracing } = await import('../../dist/apps/api/src/telemetry/tracing.js');
const tracing = await startTracing(process.env);
const { run } = await import('../../dist/apps/api/src/boot/run.js');
await run(process.env, process.cwd(), tracing, JSON.parse(process.argv[2]));
