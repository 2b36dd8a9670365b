import { execFile, execFileSync } from 'node:child_process';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ProviderError } from '../../errors.js';

/** The user of a program: `same` is the user of Rollcall. */
export type ProgramUser = string | number;

interface Account {
  readonly uid: number;
  readonly gid: number;
}

const SAME = 'same';
const known = new Map<ProgramUser, Account>();

/**
 * The account that a program runs as (S-11), or undefined if it is the account of Rollcall. A program of the same user can read the
 * memory, the environment and the files of Rollcall, so root runs a program as root only if the operator says so. Throws
 * AGENT_SETTINGS_INVALID with advice.
 */
export function accountOf(user: ProgramUser | undefined, own = process.getuid?.()): Account | undefined {
  if (user === SAME) return undefined;
  if (user === undefined) {
    if (own !== 0) return undefined;
    throw refused(
      'Rollcall runs as root, and a program of the same user can read its keys and its data. Set user to another account, ' +
        'such as nobody, or to "same" if you trust the program with everything',
    );
  }
  const account = known.get(user) ?? lookUp(user);
  known.set(user, account);
  if (own !== undefined && account.uid === own) {
    if (own !== 0) return undefined;
    throw refused(
      'its user is root. Set user to another account, or to "same" if you trust the program with everything',
    );
  }
  if (own === 0) return account;
  throw refused(
    `its user is ${user}, but only root can start a program as another user, and Rollcall runs as the user ${own ?? 'of this session'}. ` +
      'Remove user, or start Rollcall as root',
  );
}

function lookUp(user: ProgramUser): Account {
  try {
    return { uid: idOf('-u', user), gid: idOf('-g', user) };
  } catch {
    // the program `id` knows no such account
    if (typeof user === 'number') return { uid: user, gid: user };
    throw refused(`there is no user ${user} on this machine. Create the user, or set user to a number`);
  }
}

function idOf(kind: '-u' | '-g', user: ProgramUser): number {
  return Number(
    execFileSync('id', [kind, '--', String(user)], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
  );
}

function refused(why: string): ProviderError {
  return new ProviderError('AGENT_SETTINGS_INVALID', `The program cannot run: ${why}.`);
}

/** A folder that only one program can read. It is removed when the program has ended. */
export class PrivateFolder {
  private constructor(
    readonly path: string,
    private readonly account: Account | undefined,
  ) {}

  static async create(account: Account | undefined): Promise<PrivateFolder> {
    const path = await mkdtemp(join(tmpdir(), 'rollcall-program-')); // its mode is 0700
    if (account) await chown(path, account.uid, account.gid);
    return new PrivateFolder(path, account);
  }

  /**
   * Removes the folder with the rights of the program. A program that is still running could replace a folder by a link while root
   * deletes it, and root would delete what the link leads to. Never rejects: a folder that the program has locked stays.
   */
  async remove(): Promise<void> {
    const removed = this.account
      ? promisify(execFile)('rm', ['-rf', '--', this.path], { ...this.account, cwd: '/' })
      : rm(this.path, { recursive: true, force: true });
    await removed.catch(() => undefined);
  }
}
