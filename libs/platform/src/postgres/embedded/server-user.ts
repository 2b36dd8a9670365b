import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { DataFolderError } from './data-folder.js';

/** How to start Postgres' programs, which refuse to run as root. */
export interface ServerUser {
  /** Put in front of the program. */
  prefix: string[];
  uid?: number;
  gid?: number;
}

const NAMESPACE = ['unshare', '-U', '--map-user=1000', '--map-group=1000'];

/**
 * An ordinary user starts the server as itself. Root starts it in a user namespace, where the server sees another user
 * that outside is still root: no account, no change of ownership, and folders closed to others stay usable. Where
 * namespaces are denied (many containers), root hands the server to an account without rights.
 */
export async function serverUser(): Promise<ServerUser> {
  if (process.getuid?.() !== 0) return { prefix: [] };
  if (await namespacesWork()) return { prefix: NAMESPACE };
  return { prefix: [], ...unprivilegedAccount() };
}

/** Gives a folder to the account the server will run as, where that is not the owner already. */
export function giveTo(user: ServerUser, folder: string): void {
  if (user.uid === undefined || user.gid === undefined) return;
  execFileSync('chown', ['-R', `${user.uid}:${user.gid}`, folder]);
}

/** Lets that account pass through a folder, without seeing what is in it. */
export function letPass(user: ServerUser, folder: string): void {
  if (user.uid !== undefined) chmodSync(folder, 0o711);
}

/** What to say when the server cannot be set up, and the reason may be that it is not allowed to come here. */
export function adviceFor(user: ServerUser): string {
  if (user.uid === undefined) return '';
  return (
    ' | As root without user namespaces, Postgres runs as another user, who must be able to enter this folder: move the ' +
    'clone to one that is open to others, start Rollcall as an ordinary user, or set DATABASE_URL.'
  );
}

async function namespacesWork(): Promise<boolean> {
  const [program = '', ...flags] = NAMESPACE;
  try {
    await promisify(execFile)(program, [...flags, 'true']);
    return true;
  } catch {
    return false; // denied by the kernel or the container, or no such program
  }
}

function unprivilegedAccount(): { uid: number; gid: number } {
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const account = ['postgres', 'nobody'].map((name) => accounts.find(([found]) => found === name)).find(Boolean);
  if (!account) {
    throw new DataFolderError(
      'Postgres does not run as root, and this system has neither user namespaces nor an account "nobody". ' +
        'Start Rollcall as an ordinary user, or set DATABASE_URL.',
    );
  }
  return { uid: Number(account[2]), gid: Number(account[3]) };
}
