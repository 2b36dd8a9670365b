import type { Provider } from '@nestjs/common';
import { NamespaceAdmission, NO_QUOTA, type Quota } from '#rollcall/platform';
import { ContractAwards } from './auction/contract.awards.js';
import { ContractBidding } from './auction/contract.bidding.js';
import { ContractCloser } from './auction/contract.closer.js';
import { ContractReservations } from './auction/contract.reservations.js';
import { type ScoringRule, ScoringRules } from './auction/scoring.js';
import { ContractCounts, ContractEvents } from './contract.events.js';
import { ContractOutcomes } from './contract.outcomes.js';
import { ContractSelection, ContractWaits } from './contract.selection.js';
import { ContractAdmission, ContractsService } from './contracts.service.js';
import { ContractDispatcher } from './invitations/contract.dispatcher.js';
import { ContractInvitees } from './invitations/contract.invitees.js';
import { ContractInviters } from './invitations/contract.inviters.js';
import { NoticeSender } from './invitations/notice.sender.js';
import { AttendanceStore } from './store/attendance.store.js';
import { BidStore } from './store/bid.store.js';
import { ContractStore } from './store/contract.store.js';
import { NoticeStore } from './store/notice.store.js';
import { TranscriptStore } from './store/transcript.store.js';

export interface ContractOptions {
  /** More scoring rules, which announcements can name. */
  scoring?: readonly ScoringRule[];
  /** How many open contracts one principal may have. */
  quota?: Quota;
}

const STORES: Provider[] = [ContractStore, BidStore, TranscriptStore, NoticeStore, AttendanceStore];

/** The providers for the contract net. */
export function contractProviders({ scoring, quota = NO_QUOTA }: ContractOptions = {}): Provider[] {
  return [
    ...STORES,
    { provide: ScoringRules, useFactory: () => new ScoringRules(scoring) },
    {
      provide: ContractAdmission,
      inject: [NamespaceAdmission, ContractStore],
      useFactory: (namespaces: NamespaceAdmission, store: ContractStore) =>
        new ContractAdmission(namespaces, store, quota),
    },
    ContractCounts,
    ContractInvitees,
    ContractEvents,
    ContractReservations,
    ContractAwards,
    ContractCloser,
    ContractsService,
    ContractBidding,
    ContractOutcomes,
    ContractInviters,
    ContractDispatcher,
    NoticeSender,
    ContractWaits,
    ContractSelection,
  ];
}
