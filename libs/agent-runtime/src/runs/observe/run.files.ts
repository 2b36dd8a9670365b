import { Injectable } from '@nestjs/common';
import { RuntimeError } from '../../errors.js';
import { WorkspaceError, type WorkspaceFile, type WorkspaceFolder } from '../../tools/workspace/workspace.folder.js';
import { WorkspaceMissingError, WorkspaceStore } from '../../tools/workspace/workspace.store.js';
import { Workspaces } from '../../tools/workspace/workspaces.js';
import { RunRedactedError } from '../run.errors.js';
import type { Run, RunKey } from '../run.js';
import { RunReader } from './run.reader.js';

class RunFileNotFoundError extends RuntimeError {
  readonly code = 'RUN_FILE_NOT_FOUND';
}

const NO_FILES = { files: [] };

export interface FileLimits {
  readonly files: number;
  readonly bytes: number;
}

export interface FileContent extends WorkspaceFile {
  readonly content: Buffer | undefined;
}

/** The files in the workspace of a run. A delegated run has the workspace of its root, and a run of a conversation that of the conversation. */
@Injectable()
export class RunFiles {
  constructor(
    private readonly reader: RunReader,
    private readonly workspaces: Workspaces,
    private readonly store: WorkspaceStore,
  ) {}

  /**
   * Sorted by path; `after` is the path of the last file of the previous page. Rejects with RUN_NOT_FOUND, RUN_REDACTED, or WORKSPACE_MISSING
   * if another replica has the files.
   */
  async list(key: RunKey, limit: number, after = ''): Promise<WorkspaceFile[]> {
    const { files } = (await (await this.folderOf(key))?.files()) ?? NO_FILES;
    return files.filter(({ path }) => path > after).slice(0, limit);
  }

  /** Rejects also with RUN_FILE_NOT_FOUND, and with WORKSPACE_REJECTED if the path cannot be that of a file. */
  async read(key: RunKey, path: string): Promise<Buffer> {
    const folder = await this.folderOf(key);
    const content = await folder?.readIfPresent(path);
    if (content) return content;
    throw new RunFileNotFoundError(
      `The run has no file ${JSON.stringify(path)}. GET /v1/runs/{id}/files lists its files.`,
    );
  }

  /**
   * The files of a run with their contents, up to a size of all together; undefined for the content of a file that does not fit or cannot be
   * read. It reads the database only for a run that has the workspace of another run or of a conversation.
   */
  async contentsOf(run: Run, limits: FileLimits): Promise<FileContent[]> {
    const folder = run.redactedAt === null ? await this.find(run) : undefined;
    if (!folder) return [];
    const { files } = await folder.files();
    const found: FileContent[] = [];
    let left = limits.bytes;
    for (const { path, bytes } of files.slice(0, limits.files)) {
      const content = bytes <= left ? await readable(folder, path) : undefined;
      left -= content?.length ?? 0;
      found.push({ path, bytes, content });
    }
    return found;
  }

  private async folderOf(key: RunKey): Promise<WorkspaceFolder | undefined> {
    const run = await this.reader.get(key);
    if (run.redactedAt !== null) throw new RunRedactedError();
    const folder = await this.find(run);
    if (folder || !this.workspaces.isOn) return folder;
    const { workspaceId } = await this.store.of(run);
    if (await this.store.isUsed(workspaceId)) throw new WorkspaceMissingError();
    return undefined;
  }

  private async find(run: Run): Promise<WorkspaceFolder | undefined> {
    return this.workspaces.isOn ? await this.workspaces.find(await this.store.of(run)) : undefined;
  }
}

/** A file that cannot be read must not hide the result of its run. */
async function readable(folder: WorkspaceFolder, path: string): Promise<Buffer | undefined> {
  try {
    return await folder.readIfPresent(path);
  } catch (error) {
    if (error instanceof WorkspaceError) return undefined;
    throw error;
  }
}
