import { Injectable } from '@nestjs/common';
import { Periodic } from '#rollcall/platform';
import { Workspaces } from '../../tools/workspace/workspaces.js';
import { RunStore } from '../store/run.store.js';

const BATCH = 500;

/** Deletes the workspaces of runs that were deleted or redacted. Each replica looks at its own disk, which may be a shared volume. */
@Injectable()
export class WorkspaceSweeper {
  constructor(
    private readonly workspaces: Workspaces,
    private readonly runs: RunStore,
  ) {}

  @Periodic('runs.workspaces', 60_000)
  async sweep(): Promise<number> {
    const all = await this.workspaces.list();
    let removed = 0;
    for (let first = 0; first < all.length; first += BATCH) {
      const some = all.slice(first, first + BATCH);
      const kept = await this.runs.withContents(some.map(({ rootRunId }) => rootRunId));
      for (const key of some) {
        if (kept.has(key.rootRunId)) continue;
        await this.workspaces.remove(key);
        removed += 1;
      }
    }
    return removed;
  }
}
