/**
 * Rollcall as `bin/rollcall.js` starts it, but with other constants (see config.constants.ts): `node replica.js '{"webhooks":{"tries":1}}'`.
 */
import { build } from '../../bin/build.js';

build();
const { run } = await import('../../dist/apps/api/src/boot/run.js');
await run(process.env, process.cwd(), undefined, JSON.parse(process.argv[2]));
