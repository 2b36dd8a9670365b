import { Injectable } from '@nestjs/common';
import { Periodic } from '#rollcall/platform';
import { Workspaces } from '../../tools/workspace/workspaces.js';
import { WorkspaceStore } from '../../tools/workspace/workspace.store.js';

const BATCH = 500;

/** Deletes the workspaces of runs and conversations that were deleted or redacted. Each replica looks at its own disk, which may be a shared volume. */
@Injectable()
export class WorkspaceSweeper {
  constructor(
    private readonly workspaces: Workspaces,
    private readonly store: WorkspaceStore,
  ) {}

  /** Rejects if some could not be deleted. */
  @Periodic('runs.workspaces', 60_000)
  async sweep(): Promise<number> {
    const all = await this.workspaces.list();
    const failures: unknown[] = [];
    let removed = 0;
    for (let first = 0; first < all.length; first += BATCH) {
      const some = all.slice(first, first + BATCH);
      const kept = await this.store.kept(some.map(({ workspaceId }) => workspaceId));
      const old = some.filter(({ workspaceId }) => !kept.has(workspaceId));
      await this.store.forget(old.map(({ workspaceId }) => workspaceId));
      for (const key of old) {
        try {
          await this.workspaces.remove(key);
          removed += 1;
        } catch (error) {
          failures.push(error); // the others are deleted, and this one is tried again
        }
      }
    }
    if (failures.length > 0)
      throw new AggregateError(
        failures,
        `Workspaces that could not be deleted: ${failures.length}. The first error: ${String(failures[0])}`,
      );
    return removed;
  }
}
