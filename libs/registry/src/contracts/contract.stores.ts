import { Injectable } from '@nestjs/common';
import { AttendanceStore } from './attendance.store.js';
import { BidStore } from './bid.store.js';
import { ContractNotFoundError } from './contract.errors.js';
import { type ContractKey, ContractStore, type LockedContract } from './contract.store.js';
import { NoticeStore } from './notice.store.js';
import { TranscriptStore } from './transcript.store.js';

/** The stores that a change of a contract writes. */
@Injectable()
export class ContractStores {
  constructor(
    readonly contracts: ContractStore,
    readonly bids: BidStore,
    readonly transcript: TranscriptStore,
    readonly notices: NoticeStore,
    readonly attendance: AttendanceStore,
  ) {}

  /** Locks the contract until the transaction ends. */
  async lock(key: ContractKey): Promise<LockedContract> {
    const locked = await this.contracts.lock(key);
    if (!locked) throw new ContractNotFoundError(key.id);
    return locked;
  }
}
