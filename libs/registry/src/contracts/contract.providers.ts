import type { Provider } from '@nestjs/common';
import { NO_QUOTA, type Quota } from '#rollcall/platform';
import { AnnouncementRules } from './announcement.rules.js';
import { AttendanceStore } from './attendance.store.js';
import { BidStore } from './bid.store.js';
import { ContractAnswers } from './contract.answers.js';
import { ContractAwards } from './contract.awards.js';
import { ContractBidding } from './contract.bidding.js';
import { ContractCloser } from './contract.closer.js';
import { ContractContents } from './contract.contents.js';
import { ContractCounts } from './contract.counts.js';
import { ContractDispatcher } from './contract.dispatcher.js';
import { ContractEvents } from './contract.events.js';
import { ContractInvitees } from './contract.invitees.js';
import { ContractInviters } from './contract.inviters.js';
import { ContractOutcomes } from './contract.outcomes.js';
import { ContractQuota } from './contract.quota.js';
import { ContractReservations } from './contract.reservations.js';
import { ContractSelection } from './contract.selection.js';
import { ContractSteps } from './contract.steps.js';
import { ContractStore } from './contract.store.js';
import { ContractStores } from './contract.stores.js';
import { ContractWaits } from './contract.waits.js';
import { ContractsService } from './contracts.service.js';
import { NoticeSender } from './notice.sender.js';
import { NoticeStore } from './notice.store.js';
import type { ScoringRule } from './scoring.js';
import { ScoringRules } from './scoring.rules.js';
import { TranscriptStore } from './transcript.store.js';

export interface ContractOptions {
  /** More scoring rules, which announcements can name. */
  scoring?: readonly ScoringRule[];
  /** How many open contracts one principal may have. */
  quota?: Quota;
}

const STORES: Provider[] = [ContractStore, BidStore, TranscriptStore, NoticeStore, AttendanceStore, ContractStores];

/** The providers for the contract net. */
export function contractProviders({ scoring, quota = NO_QUOTA }: ContractOptions = {}): Provider[] {
  return [
    ...STORES,
    { provide: ScoringRules, useFactory: () => new ScoringRules(scoring) },
    {
      provide: ContractQuota,
      inject: [ContractStore],
      useFactory: (store: ContractStore) => new ContractQuota(store, quota),
    },
    ContractContents,
    ContractCounts,
    ContractInvitees,
    AnnouncementRules,
    ContractEvents,
    ContractReservations,
    ContractAwards,
    ContractCloser,
    ContractSteps,
    ContractsService,
    ContractAnswers,
    ContractBidding,
    ContractOutcomes,
    ContractInviters,
    ContractDispatcher,
    NoticeSender,
    ContractWaits,
    ContractSelection,
  ];
}
