/** Deletes the local data: the embedded Postgres and the admin key. The next start creates both again. */
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { loadConfig } from '../dist/apps/api/src/config/config.loader.js';
import { DataFolder } from '../dist/libs/platform/src/index.js';

try {
  const { data } = loadConfig(process.env, process.cwd());
  const folder = new DataFolder(resolve(data.dir));
  folder.claim(); // throws while a server uses the folder
  rmSync(folder.path, { recursive: true, force: true });
  console.log(`${folder.path} was deleted.`);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
