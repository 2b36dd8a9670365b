import { AgentEntity, ForgottenEntity, IntentEntity } from '../agents/agent.entities.js';
import { BudgetEntity, LedgerEntryEntity, ReservationEntity } from '../budgets/store/budget.entities.js';
import { CircuitEntity, OutcomeEntity } from '../circuit/circuit.entities.js';
import {
  ContractBidEntity,
  ContractEntity,
  ContractEntryEntity,
  ContractNoticeEntity,
} from '../contracts/store/contract.entities.js';
import { ReplicaChangesEntity } from '../discovery/directory/replica-changes.entity.js';
import { LeaseEntity, ProtectionEntity } from '../leases/lease.entities.js';

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
  ReplicaChangesEntity,
];
