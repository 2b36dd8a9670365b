import { randomBytes } from 'node:crypto';
import { constants, type Dir } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, opendir, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { Semaphore } from '#rollcall/platform';
import { RuntimeError } from '../../errors.js';

/** A path, a file or a limit of the workspace that does not allow what a tool wants. The message tells the model what to do. */
export class WorkspaceError extends RuntimeError {
  readonly code = 'WORKSPACE_REJECTED';
}

export interface WorkspaceLimits {
  readonly maxFileBytes: number;
  /** The size of all files together. */
  readonly maxBytes: number;
  /** Files and folders together. */
  readonly maxEntries: number;
  readonly maxDepth: number;
}

export const DEFAULT_WORKSPACE_LIMITS: WorkspaceLimits = {
  maxFileBytes: 2 * 1_024 * 1_024,
  maxBytes: 256 * 1_024 * 1_024,
  maxEntries: 20_000,
  maxDepth: 32,
};

export interface WorkspaceFile {
  readonly path: string;
  readonly bytes: number;
}

export interface WorkspaceFiles {
  /** Sorted by path. */
  readonly files: readonly WorkspaceFile[];
  /** False if a program has made more files than a workspace may have: the others are missing. */
  readonly isComplete: boolean;
}

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
const OPENS_FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
/** Without O_NONBLOCK, opening a FIFO would wait for a writer. */
const OPENS_FILE = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
const CREATES_FILE = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
const MAX_PATH = 1_024;
const ENTRIES_PER_READ = 256;
const MAX_NAME_BYTES = 255;
/** Files that are being written. They are neither listed nor accessible. */
const UNFINISHED = '.rollcall-';
/** A file that exists if a command was executed in the workspace. */
const COMMANDS = `${UNFINISHED}commands`;
/** Folders of tools, with thousands of files that nobody has written. */
export const OMITTED: readonly string[] = ['.git', 'node_modules'];
/** Characters that make a name look like another one, or break a line: controls, and marks that change the direction of a text. */
const MISLEADING = /[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/u;

/**
 * The files that the tools of a run can see. No path leads outside the folder, even while a program changes it: on Linux, each part of
 * a path is opened relative to the folder before it, and no symbolic link is followed. On other systems, a program that replaces a folder by a link at the
 * same moment can lead outside.
 *
 * A file is replaced as a whole, so that a crash never leaves half of it. Changes happen one at a time.
 */
export class WorkspaceFolder {
  private readonly changes = new Semaphore(1);

  constructor(
    /** The absolute path of an existing folder. */
    readonly root: string,
    private readonly limits: WorkspaceLimits = DEFAULT_WORKSPACE_LIMITS,
  ) {}

  /** Rejects if there is no such file, or if it is not a text. */
  async readText(path: string): Promise<string> {
    const bytes = await this.read(path);
    if (bytes.includes(0)) throw new WorkspaceError(`${path} is not a text file.`);
    return bytes.toString('utf8');
  }

  /** Undefined if there is no such file. */
  async readIfPresent(path: string): Promise<Buffer | undefined> {
    try {
      return await this.read(path);
    } catch (error) {
      if (error instanceof WorkspaceError && isAbsent(error.cause)) return undefined;
      throw error;
    }
  }

  async read(path: string): Promise<Buffer> {
    return await this.within(namesOf(path), async (folder, name) => await this.readIn(folder, name, path));
  }

  /** Creates the folders of the path. Returns whether the file is new. */
  async write(path: string, content: string | Buffer, signal?: AbortSignal): Promise<boolean> {
    return await this.change(async () => await this.replace(path, content), signal);
  }

  /** Replaces the file with what `edit` returns for its text. No other change happens in between. */
  async edit(path: string, edit: (text: string) => string, signal?: AbortSignal): Promise<void> {
    await this.change(async () => await this.replace(path, edit(await this.readText(path))), signal);
  }

  /** While `act` runs, no tool changes a file of this workspace. If the signal is aborted first, nothing is changed. */
  async change<Result>(act: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const release = await this.changes.acquire({ signal });
    try {
      return await act();
    } finally {
      release();
    }
  }

  /** Links, devices, unfinished files, files that no path can name, and the folders `omitted` are left out. */
  async files(omitted = OMITTED): Promise<WorkspaceFiles> {
    const files: WorkspaceFile[] = [];
    const isComplete = await this.walk((path, bytes) => {
      if (bytes !== undefined && isClear(path)) files.push({ path, bytes });
    }, omitted);
    return { files: files.toSorted((one, other) => (one.path < other.path ? -1 : 1)), isComplete };
  }

  /**
   * Must be called before a command is executed in the workspace. From then on, its size is not limited: a command can exceed every limit,
   * and the tools must still work beside what it has made.
   */
  async allowCommands(): Promise<void> {
    await this.within([COMMANDS], async (folder, name) => {
      const file = await opened(folder.at(name), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 'The workspace');
      await file.close();
    });
  }

  private async replace(path: string, content: string | Buffer): Promise<boolean> {
    const bytes = Buffer.from(content);
    const { maxFileBytes } = this.limits;
    if (bytes.length > maxFileBytes)
      throw new WorkspaceError(`${path} would have ${bytes.length} bytes. A file may have ${maxFileBytes}. Split it.`);
    const names = namesOf(path);
    if (!(await this.allowsCommands())) await this.checkRoom(bytes.length, names.length);
    return await this.within(names, async (folder, name) => await replaceIn(folder, name, bytes, path), true);
  }

  private async allowsCommands(): Promise<boolean> {
    return await this.within([COMMANDS], async (folder, name) => (await folder.sizeOf(name)) !== undefined);
  }

  /** A file that is replaced counts twice, because both versions exist until the new one is complete. */
  private async checkRoom(more: number, newEntries: number): Promise<void> {
    const { maxBytes, maxEntries } = this.limits;
    let bytes = more;
    let entries = newEntries;
    const isComplete = await this.walk((_path, size = 0) => {
      entries += 1;
      bytes += size;
    });
    if (!isComplete || entries > maxEntries)
      throw new WorkspaceError(`The workspace is full: it may have ${maxEntries} files.`);
    if (bytes > maxBytes) throw new WorkspaceError(`The workspace is full: its files may have ${maxBytes} bytes.`);
  }

  private async readIn(folder: OpenFolder, name: string, path: string): Promise<Buffer> {
    const file = await opened(folder.at(name), OPENS_FILE, path);
    try {
      const about = await file.stat();
      if (about.isDirectory()) throw new WorkspaceError(`${path} is a folder. Use list_files to see its files.`);
      if (!about.isFile()) throw new WorkspaceError(`${path} is not a regular file.`);
      const { maxFileBytes } = this.limits;
      if (about.size > maxFileBytes)
        throw new WorkspaceError(`${path} has ${about.size} bytes. Files above ${maxFileBytes} bytes cannot be read.`);
      return await readBytes(file, about.size);
    } finally {
      await file.close();
    }
  }

  /** Opens the folder of a path, one name after the other. */
  private async within<Result>(
    names: readonly string[],
    act: (folder: OpenFolder, name: string) => Promise<Result>,
    creates = false,
  ): Promise<Result> {
    checkDepth(names, this.limits);
    let folder = await OpenFolder.open(this.root, this.root, '.');
    try {
      for (const [index, name] of names.slice(0, -1).entries()) {
        const path = names.slice(0, index + 1).join('/');
        const next = await folder.enter(name, path, creates);
        await folder.close();
        folder = next;
      }
      return await act(folder, names.at(-1)!);
    } finally {
      await folder.close();
    }
  }

  /**
   * Calls `visit` for each file with its size, and for each other entry. Returns false if it has stopped at the limit of entries. Folders that
   * a program creates deeper, and what a program removes or makes inaccessible meanwhile, are left out.
   */
  private async walk(visit: (path: string, bytes?: number) => void, omitted: readonly string[] = []): Promise<boolean> {
    let left = this.limits.maxEntries;
    const enter = async (folder: OpenFolder, prefix: string, depth: number): Promise<boolean> => {
      for await (const entry of await folder.entries()) {
        if ((left -= 1) < 0) return false;
        if (entry.name.startsWith(UNFINISHED) || (entry.isDirectory() && omitted.includes(entry.name))) continue;
        const path = prefix + entry.name;
        visit(path, entry.isFile() ? await folder.sizeOf(entry.name) : undefined);
        if (!entry.isDirectory() || depth === this.limits.maxDepth) continue;
        const inner = await folder.enter(entry.name, path, false).catch(unlessRejected);
        if (!inner) continue;
        try {
          if (!(await enter(inner, `${path}/`, depth + 1))) return false;
        } finally {
          await inner.close();
        }
      }
      return true;
    };
    const root = await OpenFolder.open(this.root, this.root, '.');
    try {
      return await enter(root, '', 1);
    } finally {
      await root.close();
    }
  }
}

/** A folder that stays the same while it is open, even if a program renames it or puts a link in its place. */
class OpenFolder {
  private constructor(
    private readonly handle: FileHandle,
    private readonly path: string,
  ) {}

  /** `address` leads to the folder, `path` is its place on the disk, and `shown` is its place in the workspace. */
  static async open(address: string, path: string, shown: string): Promise<OpenFolder> {
    return new OpenFolder(await opened(address, OPENS_FOLDER, shown), path);
  }

  /** The address of an entry of this folder. */
  at(name: string): string {
    return join(this.address, name);
  }

  async enter(name: string, shown: string, creates: boolean): Promise<OpenFolder> {
    if (creates) await makeFolder(this.at(name), shown);
    return await OpenFolder.open(this.at(name), join(this.path, name), shown);
  }

  /** The entries are read in parts: a folder may have millions. */
  async entries(): Promise<Dir> {
    return await opendir(this.address, { bufferSize: ENTRIES_PER_READ });
  }

  /** Undefined if the file was removed, or if its name is not a text. */
  async sizeOf(name: string): Promise<number | undefined> {
    return (await lstat(this.at(name)).catch(unless('ENOENT')))?.size;
  }

  async close(): Promise<void> {
    await this.handle.close();
  }

  private get address(): string {
    return process.platform === 'linux' ? `/proc/self/fd/${this.handle.fd}` : this.path;
  }
}

/** Writes a new file beside the old one, and gives it the name when it is complete. Returns whether there was no old one. */
async function replaceIn(folder: OpenFolder, name: string, bytes: Buffer, path: string): Promise<boolean> {
  const before = await lstat(folder.at(name)).catch(unless('ENOENT'));
  if (before?.isDirectory()) throw new WorkspaceError(`${path} is a folder. Choose the name of a file.`);
  if (before && !before.isFile()) throw new WorkspaceError(`${path} is not a regular file.`);
  const unfinished = folder.at(UNFINISHED + randomBytes(8).toString('hex'));
  const file = await opened(unfinished, CREATES_FILE, path);
  try {
    await file.writeFile(bytes);
    await file.close();
    await rename(unfinished, folder.at(name));
  } catch (error) {
    await file.close().catch(unless('EBADF'));
    await unlink(unfinished).catch(unless('ENOENT'));
    throw explained(error, path);
  }
  return before === undefined;
}

/** Reads the size that the file had when it was opened: a program may be writing to it. */
async function readBytes(file: FileHandle, size: number): Promise<Buffer> {
  const buffer = Buffer.alloc(size);
  let length = 0;
  while (length < size) {
    const { bytesRead } = await file.read(buffer, length, size - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return buffer.subarray(0, length);
}

/** Throws WORKSPACE_REJECTED if the path cannot be that of a file in a workspace. */
export function checkWorkspacePath(path: string): void {
  checkDepth(namesOf(path), DEFAULT_WORKSPACE_LIMITS);
}

function checkDepth({ length }: readonly string[], { maxDepth }: WorkspaceLimits): void {
  if (length > maxDepth) throw new WorkspaceError(`A path may have ${maxDepth} parts; this one has ${length}.`);
}

/** The names on a path. Throws if the path could mean something outside the workspace, or is not what it looks like. */
function namesOf(path: string): string[] {
  const shown = JSON.stringify(path.slice(0, 100));
  if (path.length > MAX_PATH) throw new WorkspaceError(`The path is longer than ${MAX_PATH} characters.`);
  if (MISLEADING.test(path) || !path.isWellFormed())
    throw new WorkspaceError(`The path ${shown} contains invisible characters.`);
  if (path.startsWith('/') || path.includes('\\'))
    throw new WorkspaceError(`The path ${shown} must be relative to the workspace, such as src/main.ts.`);
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  if (names.includes('..')) throw new WorkspaceError(`The path ${shown} leads outside the workspace.`);
  if (names.length === 0) throw new WorkspaceError(`The path ${shown} names no file.`);
  for (const name of names)
    if (Buffer.byteLength(name) > MAX_NAME_BYTES || name.startsWith(UNFINISHED))
      throw new WorkspaceError(`The path ${shown} contains a name that is reserved or too long.`);
  return names;
}

/** Whether the path is what it looks like, and does not look like a path of another system. */
function isClear(path: string): boolean {
  return !MISLEADING.test(path) && path.isWellFormed() && !path.includes('\\') && path.length <= MAX_PATH;
}

async function makeFolder(address: string, path: string): Promise<void> {
  try {
    await mkdir(address, 0o700);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw explained(error, path);
  }
}

async function opened(address: string, flags: number, path: string): Promise<FileHandle> {
  try {
    return await open(address, flags, 0o600);
  } catch (error) {
    throw explained(error, path);
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist. Use list_files to see the files of the workspace.',
  ENOTDIR: 'is not a folder, or is a symbolic link, which is not followed.',
  ELOOP: 'is a symbolic link, which is not followed.',
  EMLINK: 'is a symbolic link, which is not followed.',
  EISDIR: 'is a folder.',
  EACCES: 'cannot be accessed.',
  EPERM: 'cannot be accessed.',
  EROFS: 'cannot be written: the disk is read-only.',
  ENXIO: 'is not a regular file.',
  ENAMETOOLONG: 'has a name that is too long.',
  ENOSPC: 'cannot be written: the disk is full.',
  EDQUOT: 'cannot be written: the disk is full.',
};

/** The model must not read where the workspace is on the disk. */
export function explained(error: unknown, path: string): unknown {
  const reason = REASONS[(error as NodeJS.ErrnoException).code ?? ''];
  return reason === undefined ? error : new WorkspaceError(`${path} ${reason}`, { cause: error });
}

function unlessRejected(error: unknown): undefined {
  if (!(error instanceof WorkspaceError)) throw error;
}

function isAbsent(cause: unknown): boolean {
  return (cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT';
}

function unless(code: string): (error: NodeJS.ErrnoException) => undefined {
  return (error) => {
    if (error.code !== code) throw error;
  };
}
