import type { Contract } from './contract.js';

/** What an agent is notified of. `bid`: it may bid. `award`: it must confirm. `lost`: another agent has won, or nobody has. */
export const NOTICE_KINDS = ['bid', 'award', 'lost'] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];

/** A notice for one agent. */
export interface ContractNotice {
  readonly kind: NoticeKind;
  /** The qualified id of the agent. */
  readonly agentId: string;
  readonly contract: Contract;
}

/**
 * Delivers notices over one channel, such as the sockets or the endpoints of agents. Delivery may fail or happen twice: an agent
 * that receives no notice does not bid, and a repeated notice has no effect.
 */
export interface Inviter {
  deliver(notice: ContractNotice): Promise<void>;
}
