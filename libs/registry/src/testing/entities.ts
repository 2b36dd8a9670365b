import { AgentEntity } from '../agents/agent.entity.js';
import { ForgottenEntity } from '../agents/forgotten.entity.js';
import { IntentEntity } from '../agents/intent.entity.js';
import { BudgetEntity } from '../budgets/budget.entity.js';
import { LedgerEntryEntity } from '../budgets/ledger-entry.entity.js';
import { ReservationEntity } from '../budgets/reservation.entity.js';
import { CircuitEntity } from '../circuit/circuit.entity.js';
import { OutcomeEntity } from '../circuit/outcome.entity.js';
import { ContractBidEntity } from '../contracts/contract-bid.entity.js';
import { ContractEntryEntity } from '../contracts/contract-entry.entity.js';
import { ContractNoticeEntity } from '../contracts/contract-notice.entity.js';
import { ContractEntity } from '../contracts/contract.entity.js';
import { LeaseEntity } from '../leases/lease.entity.js';
import { ProtectionEntity } from '../leases/protection.entity.js';

/** The entities of this library. They describe the tables and the types of rows; a test compares them with the migrations. */
export const REGISTRY_ENTITIES = [
  AgentEntity,
  ForgottenEntity,
  LeaseEntity,
  CircuitEntity,
  OutcomeEntity,
  IntentEntity,
  ProtectionEntity,
  BudgetEntity,
  ReservationEntity,
  LedgerEntryEntity,
  ContractEntity,
  ContractBidEntity,
  ContractEntryEntity,
  ContractNoticeEntity,
];
