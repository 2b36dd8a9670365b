import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import type { ExpiryReason, LapseReason } from '../auction/auction.js';
import type { Offer } from '../auction/bid.js';
import type { BidScore } from '../auction/scoring.js';
import type { Answer, ContractOutcome } from '../contract.js';

/** The entries of a transcript, by kind. Ids of agents are local. */
export interface TranscriptFacts {
  announced: { invited: string[]; notInvited?: number; capabilities: string[]; deadline: string };
  bid: { agentId: string; revision: number } & Offer;
  refused: { agentId: string; revision: number; note: string | null };
  late: { agentId: string; lateMs: number; answer: Answer } & Partial<Offer>;
  scored: { rule: string; bids: BidScore[] };
  left: { agentId: string };
  unfunded: { agentId: string; code: string };
  awarded: { agentId: string; score: number; price: number; etaMs: number; confirmBy: string };
  lapsed: { agentId: string; reason: LapseReason };
  declined: { agentId: string };
  confirmed: { agentId: string };
  lost: { agentIds: string[] };
  expired: { reason: ExpiryReason };
  cancelled: { by: string };
  run_started: { runId: string };
  outcome: ContractOutcome & { agentId: string };
}
export const TRANSCRIPT_KINDS = [
  'announced',
  'bid',
  'refused',
  'late',
  'scored',
  'left',
  'unfunded',
  'awarded',
  'lapsed',
  'declined',
  'confirmed',
  'lost',
  'expired',
  'cancelled',
  'run_started',
  'outcome',
] as const satisfies readonly (keyof TranscriptFacts)[];
export type TranscriptKind = (typeof TRANSCRIPT_KINDS)[number];

export type TranscriptEntry = {
  [Kind in TranscriptKind]: { readonly at: Date; readonly kind: Kind; readonly data: TranscriptFacts[Kind] };
}[TranscriptKind];

/** The entries that contain bids. They are hidden while the bids are sealed. */
export const SEALED_KINDS: ReadonlySet<TranscriptKind> = new Set(['bid', 'refused', 'late']);

/** The SQL of transcripts. The caller of `append` has locked the contract, so the numbers have no gap. */
@Injectable()
export class TranscriptStore {
  constructor(private readonly db: Database) {}

  /** `at` is the time of the decision that the entry records; by default, the time of the write. */
  async append<Kind extends TranscriptKind>(
    contractId: string,
    kind: Kind,
    data: TranscriptFacts[Kind],
    at: number | null = null,
  ): Promise<void> {
    await this.db.query(
      `INSERT INTO contract_entry (contract_id, number, kind, data, at)
       SELECT $1, coalesce(max(number), 0) + 1, $2, $3, coalesce(to_timestamp($4::float8 / 1000), clock_timestamp()) FROM contract_entry WHERE contract_id = $1`,
      [contractId, kind, JSON.stringify(data), at],
    );
  }

  async read(contractId: string): Promise<TranscriptEntry[]> {
    return await this.db.query<TranscriptEntry>(
      'SELECT at, kind, data FROM contract_entry WHERE contract_id = $1 ORDER BY number',
      [contractId],
    );
  }
}
