import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { BackgroundFaults, Loop, namespaceOf, StopsIn } from '#rollcall/platform';
import { ContractStore } from '../store/contract.store.js';
import { type DueNotice, NoticeStore } from '../store/notice.store.js';
import { ContractInviters, type ContractNotice, isCurrent } from './contract.inviters.js';

const EVERY_MS = 2_000;
/** The maximum number of notices in progress. Below it, an endpoint that does not respond delays only its own notice. */
const MAX_SENDING = 200;
/** If a replica dies while it sends a notice, another replica sends it after this time. */
const LEASE_MS = 5_000;
const MAX_ATTEMPTS = 3;

/** Sends the notices for endpoints. One replica sends each notice. A failed notice is repeated a few times, while it is still true. */
@Injectable()
export class NoticeSender implements OnApplicationBootstrap {
  private readonly loop = new Loop({
    pass: async () => await this.pass(),
    everyMs: () => EVERY_MS,
    onError: (error) => this.faults.report('contracts.notify', error),
  });

  private readonly sending = new Set<Promise<void>>();

  constructor(
    private readonly notices: NoticeStore,
    private readonly contracts: ContractStore,
    private readonly inviters: ContractInviters,
    private readonly faults: BackgroundFaults,
  ) {}

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  /** Starts a pass, because there may be new notices. */
  wake(): void {
    this.loop.wake();
  }

  @StopsIn('background')
  async stop(): Promise<void> {
    await this.loop.stop();
    await Promise.all(this.sending);
  }

  /** Starts to send the notices that are due, up to the maximum in progress. Returns how many it started. */
  async pass(): Promise<number> {
    const room = MAX_SENDING - this.sending.size;
    if (!this.inviters.endpoints || room === 0) return 0;
    const due = await this.notices.claim(room, LEASE_MS);
    for (const notice of due) this.start(notice);
    return due.length;
  }

  private start(notice: DueNotice): void {
    const sent = this.send(notice)
      .catch((error: unknown) => this.faults.report('contracts.notify', error))
      .finally(() => {
        if (this.sending.size === MAX_SENDING) this.wake();
        this.sending.delete(sent);
      });
    this.sending.add(sent);
  }

  private async send(notice: DueNotice): Promise<void> {
    const { contractId: id, agentId, kind, attempts } = notice;
    const contract = await this.contracts.find({ namespace: namespaceOf(agentId), id });
    try {
      if (contract) await this.deliver({ kind, agentId, contract });
    } catch (error) {
      this.faults.report('contracts.notify', error);
      if (attempts < MAX_ATTEMPTS) return;
    }
    await this.notices.remove(notice);
  }

  private async deliver(notice: ContractNotice): Promise<void> {
    if (isCurrent(notice)) await this.inviters.endpoints?.deliver(notice);
  }
}
