import { chmod, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { ContentPart } from '#rollcall/providers';
import type { RunContext } from '../../loop/run.context.js';
import { TOOLS_OPTIONS, type ToolsOptions } from '../tools.options.js';
import { checkWorkspacePath, explained, WorkspaceError, WorkspaceFolder } from './workspace.folder.js';

/** Identifies a workspace: all runs of a conversation share one, and all runs of a tree have that of their root. */
export interface WorkspaceKey {
  readonly namespace: string;
  readonly workspaceId: string;
}

/** The workspace of the run that makes a call. */
export function workspaceOf(run: RunContext): WorkspaceKey {
  const { namespace, rootRunId, workspaceId = rootRunId } = run;
  return { namespace, workspaceId };
}

/** More than a replica can execute at a time. */
const MAX_OPEN = 20_000;
const SAFE = /^[a-zA-Z0-9_-]{1,128}$/;
/** The id of a run or a UUID. All other folders belong to the operator, and are never listed or removed. */
const WORKSPACE_ID = /^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$/;

/** The workspaces of runs and conversations: folders below the one that the operator has chosen, by namespace. */
@Injectable()
export class Workspaces {
  /** Calls of one run must share an object, which puts their changes in sequence. An object without a user may be dropped. */
  private readonly folders = new LRUCache<string, WorkspaceFolder>({ max: MAX_OPEN });
  private readonly root: string | undefined;
  private opened: (key: WorkspaceKey) => Promise<void> = async () => await Promise.resolve();

  constructor(@Inject(TOOLS_OPTIONS) { workspaces }: ToolsOptions) {
    this.root = workspaces.root;
  }

  get isOn(): boolean {
    return this.root !== undefined;
  }

  /** Calls this function when this replica opens a workspace for the first time, before the workspace is used. */
  onOpen(opened: (key: WorkspaceKey) => Promise<void>): void {
    this.opened = opened;
  }

  /** Creates the workspace at its first use. */
  async of(key: WorkspaceKey): Promise<WorkspaceFolder> {
    const path = this.pathOf(key);
    const isNew = await created(path);
    if (isNew || !this.folders.has(path)) await this.opened(key);
    let folder = this.folders.get(path);
    if (!folder) this.folders.set(path, (folder = new WorkspaceFolder(path)));
    return folder;
  }

  /** Checks the paths of the files of a message. Without workspaces, the files stay in the message, so that the model gets them. */
  accepted(parts: readonly ContentPart[]): ContentPart[] {
    return parts.map((part) => {
      if (part.type !== 'file' || !('bytes' in part) || part.path === undefined) return part;
      const { path, ...rest } = part;
      checkWorkspacePath(path);
      return this.isOn ? part : rest;
    });
  }

  /** Puts the files of a message into the workspace. Without workspaces, it does nothing. */
  async receive(key: WorkspaceKey, parts: readonly ContentPart[]): Promise<void> {
    if (!this.isOn) return;
    for (const part of parts) {
      if (part.type !== 'file' || !('bytes' in part) || part.path === undefined) continue;
      await (await this.of(key)).write(part.path, Buffer.from(part.bytes, 'base64'));
    }
  }

  /** The workspace of a run that has used it; undefined if there is none. */
  async find(key: WorkspaceKey): Promise<WorkspaceFolder | undefined> {
    if (!this.isOn) return undefined;
    const isThere = await stat(this.pathOf(key)).then(
      (found) => found.isDirectory(),
      () => false,
    );
    return isThere ? await this.of(key) : undefined;
  }

  /** The workspaces on the disk of this replica. */
  async list(): Promise<WorkspaceKey[]> {
    if (this.root === undefined) return [];
    const keys: WorkspaceKey[] = [];
    for (const namespace of await namesIn(this.root, SAFE))
      for (const workspaceId of await namesIn(join(this.root, namespace), WORKSPACE_ID))
        keys.push({ namespace, workspaceId });
    return keys;
  }

  async remove(key: WorkspaceKey): Promise<void> {
    const path = this.pathOf(key);
    this.folders.delete(path);
    await removeFolder(path);
  }

  private pathOf({ namespace, workspaceId }: WorkspaceKey): string {
    if (this.root === undefined)
      throw new WorkspaceError('Workspaces are off. The operator can set ROLLCALL_WORKSPACES.');
    if (!SAFE.test(namespace) || !SAFE.test(workspaceId))
      throw new Error(`${namespace}/${workspaceId} is not the id of a workspace`);
    return join(this.root, namespace, workspaceId);
  }
}

const REMOVAL = { recursive: true, force: true };

/** Programs leave folders that their own user cannot change: the caches of some package managers are read-only. */
async function removeFolder(path: string): Promise<void> {
  try {
    await rm(path, REMOVAL);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
    await makeWritable(path);
    await rm(path, REMOVAL);
  }
}

/** The folder and those below it. A link is not a folder. */
async function makeWritable(path: string): Promise<void> {
  await chmod(path, 0o700);
  for (const entry of await readdir(path, { withFileTypes: true }))
    if (entry.isDirectory()) await makeWritable(join(path, entry.name));
}

/** Creates a folder with those above it. Returns whether it is new. */
async function created(path: string): Promise<boolean> {
  try {
    return (await mkdir(path, { recursive: true, mode: 0o700 })) !== undefined;
  } catch (error) {
    throw explained(error, 'The workspace');
  }
}

/** The names of the folders of this form. */
async function namesIn(path: string, form: RegExp): Promise<string[]> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    return entries.flatMap((entry) => (entry.isDirectory() && form.test(entry.name) ? [entry.name] : []));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
