import { Injectable } from '@nestjs/common';
import { type Run, RunsService } from '#rollcall/agent-runtime';
import { Database } from '#rollcall/platform';
import { AuditService } from '../audit/audit.service.js';
import { type A2aCall, actorIn, keyOf } from './a2a.call.js';

@Injectable()
export class TaskCanceller {
  constructor(
    private readonly runs: RunsService,
    private readonly db: Database,
    private readonly audit: AuditService,
  ) {}

  /** Cancels the run, and records the action in the audit log in the same transaction. */
  async cancel(call: A2aCall, { id }: Run): Promise<Run> {
    return await this.db.transaction(async () => {
      const run = await this.runs.cancel(keyOf(call, id), actorIn(call));
      await this.audit.record('run.cancelled', run, {});
      return run;
    });
  }
}
