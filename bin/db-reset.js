/** Throws the local data away: the embedded Postgres and the admin key. The next start begins anew. */
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { loadConfig } from '../dist/apps/api/src/config/config.loader.js';
import { DataFolder } from '../dist/libs/platform/src/index.js';

try {
  const { data } = loadConfig(process.env, process.cwd());
  const folder = new DataFolder(resolve(data.dir));
  folder.claim(); // refuses while a server uses it
  rmSync(folder.path, { recursive: true, force: true });
  console.log(`${folder.path} is gone.`);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
