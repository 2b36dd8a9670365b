/** Throws the local data away: the embedded Postgres and the admin key. The next start begins anew. */
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { DataFolder } from '../dist/libs/registry/src/index.js';

const folder = new DataFolder(resolve(process.env.ROLLCALL_DATA_DIR || '.rollcall'));
try {
  folder.claim(); // refuses while a server uses it
  rmSync(folder.path, { recursive: true, force: true });
  console.log(`${folder.path} is gone.`);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
