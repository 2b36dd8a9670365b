import { Injectable } from '@nestjs/common';
import { TaskInbox } from '#rollcall/agent-runtime';
import { Directory, type DesiredState } from '#rollcall/registry';

/** What the answer to a heartbeat tells the agent. */
export interface BeatNotices {
  /** Absent if it is `active`. */
  readonly desiredState?: DesiredState;
  readonly cancelled?: readonly string[];
}

const NONE: BeatNotices = {};

/** What agents must know that hear nothing but the answers to their heartbeats. It needs no access to the database. */
@Injectable()
export class WorkNotices {
  constructor(
    private readonly inbox: TaskInbox,
    private readonly directory: Directory,
  ) {}

  /** `agentId` is a qualified id. */
  of(agentId: string): BeatNotices {
    const desiredState = this.directory.find(agentId)?.record.desiredState ?? 'active';
    const cancelled = this.inbox.cancelledLately(agentId);
    if (desiredState === 'active' && cancelled.length === 0) return NONE;
    return { ...(desiredState !== 'active' && { desiredState }), ...(cancelled.length > 0 && { cancelled }) };
  }
}
