import { Injectable } from '@nestjs/common';
import { RuntimeError } from '../../errors.js';
import type { WorkspaceFile, WorkspaceFolder } from '../../tools/workspace/workspace.folder.js';
import { Workspaces } from '../../tools/workspace/workspaces.js';
import { RunRedactedError } from '../run.errors.js';
import type { RunKey } from '../run.js';
import { RunReader } from './run.reader.js';

class RunFileNotFoundError extends RuntimeError {
  readonly code = 'RUN_FILE_NOT_FOUND';
}

/** The files in the workspace of a run. A delegated run has the workspace of its root. */
@Injectable()
export class RunFiles {
  constructor(
    private readonly reader: RunReader,
    private readonly workspaces: Workspaces,
  ) {}

  /** Sorted by path. Rejects with RUN_NOT_FOUND or RUN_REDACTED. */
  async list(key: RunKey): Promise<WorkspaceFile[]> {
    return (await (await this.folderOf(key))?.files()) ?? [];
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

  private async folderOf(key: RunKey): Promise<WorkspaceFolder | undefined> {
    const { namespace, rootId: rootRunId, redactedAt } = await this.reader.get(key);
    if (redactedAt !== null) throw new RunRedactedError();
    return await this.workspaces.find({ namespace, rootRunId });
  }
}
