import { Injectable } from '@nestjs/common';
import { HostedAgents } from '../../lifecycle/hosted.agents.js';
import { type WorkspaceKey, Workspaces } from '../../tools/workspace/workspaces.js';
import { WorkspaceMissingError, WorkspaceStore } from '../../tools/workspace/workspace.store.js';
import type { RunJournal } from '../journal/run.journal.js';
import { RunClosedError } from './run.scope.js';

/** How long a run waits for a replica that has its workspace. */
const MAX_WAIT_MS = 60_000;

/**
 * The workspaces of the runs that this replica executes. A run never continues in an empty folder in place of the one that it, or its
 * conversation, has used: it is handed over to the replica that had the folder last, and fails if no replica has it.
 */
@Injectable()
export class RunWorkspaces {
  constructor(
    private readonly workspaces: Workspaces,
    private readonly store: WorkspaceStore,
    private readonly hosted: HostedAgents,
  ) {
    workspaces.onOpen(async ({ workspaceId }) => await store.record(workspaceId, hosted.replicaId));
  }

  /**
   * The workspace of a run, with the files of its last message. A message that the agent has not answered may be received again: nothing
   * has changed its files since. Undefined without workspaces. Rejects with RunClosedError if the run was handed over, and with
   * WORKSPACE_MISSING.
   */
  async open(journal: RunJournal): Promise<WorkspaceKey | undefined> {
    if (!this.workspaces.isOn) return undefined;
    const { run, steps } = journal;
    const key = await this.store.of(run);
    const mayExist = run.attempts > 1 || key.workspaceId !== run.id;
    if (mayExist) await this.expect(key, journal);
    const last = steps.at(-1);
    if (last?.type === 'message') await this.workspaces.receive(key, last.parts);
    return key;
  }

  private async expect(key: WorkspaceKey, { scope }: RunJournal): Promise<void> {
    const { replicaId } = this.hosted;
    if (await this.workspaces.find(key)) return await this.store.record(key.workspaceId, replicaId);
    const end = await this.store.handOver(key.workspaceId, { ...scope.fence, replicaId, maxWaitMs: MAX_WAIT_MS });
    if (end === 'unused') return;
    if (end === 'missing') throw new WorkspaceMissingError();
    scope.close();
    throw new RunClosedError('The run continues on the replica that has its workspace.');
  }
}
