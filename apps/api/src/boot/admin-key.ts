import { mkdirSync, existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Config } from '../config/config.schema.js';
import type { KeysService } from '../keys/keys.service.js';

export interface AdminKey {
  /** Set only when this start made the key: the one time it is shown. */
  created?: string;
  /** How a shell gets at the key, for the example that is printed. */
  shell: string;
  /** The file it is kept in, where there is one. */
  file?: string;
}

/** Makes sure that someone can get in: with the key of the deployment, or with one made on the very first start. */
export async function ensureAdminKey(keys: KeysService, { auth, data }: Config): Promise<AdminKey> {
  if (auth.adminKey) {
    await keys.adoptFromEnvironment(auth.adminKey);
    return { shell: '$ROLLCALL_ADMIN_KEY' };
  }
  const file = join(resolve(data.dir), 'admin.key');
  const shell = `$(cat '${file}')`;
  const created = await keys.createFirst();
  if (!created) return existsSync(file) ? { shell, file } : { shell: '<your API key>' };
  return keep(file, created) ? { created, shell, file } : { created, shell: created };
}

function keep(file: string, key: string): boolean {
  try {
    mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 });
    writeFileSync(file, `${key}\n`, { mode: 0o600 });
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (['EACCES', 'EROFS', 'EPERM'].includes(code)) return false; // a read-only container: it is shown all the same
    throw error;
  }
}
