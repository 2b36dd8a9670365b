import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { BackgroundFaults, Loop, namespaceOf, StopsIn } from '#rollcall/platform';
import { ContractInviters } from './contract.inviters.js';
import { ContractStore } from './contract.store.js';
import { type DueNotice, NoticeStore } from './notice.store.js';

const EVERY_MS = 2_000;
const MAX_BATCH = 50;
/** If a replica dies while it sends a notice, another replica sends it after this time. */
const LEASE_MS = 5_000;
const MAX_ATTEMPTS = 3;

/** Sends the notices for endpoints. One replica sends each notice; a failed one is repeated a few times. */
@Injectable()
export class NoticeSender implements OnApplicationBootstrap {
  private readonly loop = new Loop({
    pass: async () => await this.pass(),
    everyMs: () => EVERY_MS,
    onError: (error) => this.faults.report('contracts.notify', error),
  });

  constructor(
    private readonly notices: NoticeStore,
    private readonly contracts: ContractStore,
    private readonly inviters: ContractInviters,
    private readonly faults: BackgroundFaults,
  ) {}

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  /** There may be new notices. */
  wake(): void {
    this.loop.wake();
  }

  @StopsIn('background')
  async stop(): Promise<void> {
    await this.loop.stop();
  }

  /** Returns how many notices it tried to send. */
  async pass(): Promise<number> {
    if (!this.inviters.endpoints) return 0;
    const due = await this.notices.claim(MAX_BATCH, LEASE_MS);
    await Promise.all(due.map(async (notice) => await this.send(notice)));
    return due.length;
  }

  private async send(notice: DueNotice): Promise<void> {
    const { contractId: id, agentId, kind, attempts } = notice;
    const contract = await this.contracts.find({ namespace: namespaceOf(agentId), id });
    try {
      if (contract) await this.inviters.endpoints?.deliver({ kind, agentId, contract });
    } catch (error) {
      this.faults.report('contracts.notify', error);
      if (attempts < MAX_ATTEMPTS) return;
    }
    await this.notices.remove(notice);
  }
}
