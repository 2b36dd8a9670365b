import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { DataFolderError } from './data-folder.js';

/** How to start the programs of Postgres, which do not run as root. */
export interface ServerUser {
  /** The command that starts the program, with its arguments. */
  prefix: string[];
  uid?: number;
  gid?: number;
}

const NAMESPACE = ['unshare', '-U', '--map-user=1000', '--map-group=1000'];

/**
 * An ordinary user starts the server under its own account. Root starts the server in a user namespace: the server has another user
 * id inside the namespace, but is still root outside. So the server needs no account of its own, and its files need no other owner
 * and no access for other users. Where user namespaces are not allowed (in many containers), the server runs under an
 * unprivileged account.
 */
export async function serverUser(): Promise<ServerUser> {
  if (process.getuid?.() !== 0) return { prefix: [] };
  if (await namespacesWork()) return { prefix: NAMESPACE };
  return { prefix: [], ...unprivilegedAccount() };
}

/** Makes the account of the server the owner of a folder, if the server has its own account. */
export function changeOwner(user: ServerUser, folder: string): void {
  if (user.uid === undefined || user.gid === undefined) return;
  execFileSync('chown', ['-R', `${user.uid}:${user.gid}`, folder]);
}

/** Lets the account of the server enter a folder, but not list it. */
export function allowTraversal(user: ServerUser, folder: string): void {
  if (user.uid !== undefined) chmodSync(folder, 0o711);
}

/** The hint for an error message when the server may have no access to its folder. */
export function adviceFor(user: ServerUser): string {
  if (user.uid === undefined) return '';
  return (
    ' | Rollcall runs as root, and user namespaces are not available. So Postgres runs as another user, which must be able to ' +
    'enter this folder: move the installation to a folder that other users can enter, start Rollcall as an ordinary user, ' +
    'or set DATABASE_URL.'
  );
}

async function namespacesWork(): Promise<boolean> {
  const [program = '', ...flags] = NAMESPACE;
  try {
    await promisify(execFile)(program, [...flags, 'true']);
    return true;
  } catch {
    return false; // not allowed by the kernel or the container, or the program is missing
  }
}

function unprivilegedAccount(): { uid: number; gid: number } {
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const account = ['postgres', 'nobody'].map((name) => accounts.find(([user]) => user === name)).find(Boolean);
  if (!account) {
    throw new DataFolderError(
      'Postgres does not run as root, and this system has neither user namespaces nor an account "postgres" or "nobody". ' +
        'Start Rollcall as an ordinary user, or set DATABASE_URL.',
    );
  }
  return { uid: Number(account[2]), gid: Number(account[3]) };
}
