import { Injectable } from '@nestjs/common';
import { type Announcement, type Contract, ContractsService } from '#rollcall/registry';
import type { Principal } from '../auth/principal.js';
import { StorageRate } from '../limits/storage.rate.js';

/** Announces contracts for all protocols. What a contract stores, with a row for each invited agent, counts for its announcer. */
@Injectable()
export class ContractAnnouncer {
  constructor(
    private readonly contracts: ContractsService,
    private readonly storage: StorageRate,
  ) {}

  async announce(caller: Principal, announcement: Announcement): Promise<Contract> {
    this.storage.take(caller, announcement);
    const contract = await this.contracts.announce(announcement);
    this.storage.takeMore(caller, contract.invited);
    return contract;
  }
}
