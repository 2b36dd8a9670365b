import { ApiProperty } from '@nestjs/swagger';
import { localIdOf } from '#rollcall/platform';
import {
  type Contract,
  CONTRACT_STATES,
  type ContractReading,
  DEFAULT_WEIGHTS,
  EXPIRY_REASONS,
  type ExpiryReason,
  MAX_INVITED,
  type Participant,
  TRANSCRIPT_KINDS,
  type TranscriptKind,
} from '#rollcall/registry';
import { PageView } from '../http/page.js';

const TIME = { type: String, format: 'date-time', example: '2026-02-24T10:00:00.000Z' } as const;
const ANY_OBJECT = { type: 'object', additionalProperties: true } as const;
const COUNT = { type: 'integer', example: 3 } as const;

class ContractOutcomeView {
  @ApiProperty({ example: true, description: 'Whether the agent did the task.' }) ok: boolean;
  @ApiProperty({ type: 'integer', nullable: true, example: 42_000, description: 'Micro-dollars; null if unknown.' })
  microUsd: number | null;
  @ApiProperty({ type: 'integer', nullable: true, example: 0, description: 'Tokens; null if unknown.' })
  tokens: number | null;
  @ApiProperty({ type: 'integer', nullable: true, example: 95_000, description: 'Milliseconds.' }) ms: number | null;
  @ApiProperty({
    type: String,
    nullable: true,
    example: null,
    description: 'Why the run of the winner did not complete; null in all other cases.',
  })
  reason: string | null;
}

class ContractLimitsView {
  @ApiProperty({
    type: 'integer',
    nullable: true,
    example: 100_000,
    description: 'The highest price; null for no limit.',
  })
  price: number | null;
  @ApiProperty({ type: 'integer', nullable: true, example: null, description: 'The longest time; null for no limit.' })
  etaMs: number | null;
}

class ContractReserveView {
  @ApiProperty({ type: 'integer', example: 0, description: 'Tokens.' }) tokens: number;
  @ApiProperty({
    type: 'integer',
    nullable: true,
    example: null,
    description: 'Micro-dollars; null for the price of the winning bid.',
  })
  microUsd: number | null;
}

class ScoringWeightsView {
  @ApiProperty({ type: Number, example: DEFAULT_WEIGHTS.price, description: 'A low price.' }) price: number;
  @ApiProperty({ type: Number, example: DEFAULT_WEIGHTS.eta, description: 'A short time.' }) eta: number;
  @ApiProperty({ type: Number, example: DEFAULT_WEIGHTS.confidence, description: 'The confidence of the agent.' })
  confidence: number;
  @ApiProperty({
    type: Number,
    example: DEFAULT_WEIGHTS.reliability,
    description: 'How well the agent kept its earlier bids.',
  })
  reliability: number;
}

class BidView {
  @ApiProperty({ example: 'builder-01', description: 'The invited agent.' }) agentId: string;
  @ApiProperty({
    enum: ['bid', 'refused'],
    nullable: true,
    example: 'bid',
    description: 'The answer of the agent; null if it did not answer.',
  })
  answer: 'bid' | 'refused' | null;
  @ApiProperty({ type: 'integer', nullable: true, example: 40_000, description: 'Micro-dollars.' })
  price: number | null;
  @ApiProperty({ type: 'integer', nullable: true, example: 90_000, description: 'Milliseconds.' })
  etaMs: number | null;
  @ApiProperty({ type: Number, nullable: true, example: 0.9, description: 'From 0 to 1.' }) confidence: number | null;
  @ApiProperty({ ...COUNT, example: 1, description: 'How many answers were accepted. The last one counts.' })
  revision: number;
  @ApiProperty({ ...COUNT, example: 0, description: 'How many late answers were recorded, up to 3.' })
  lateAnswers: number;
  @ApiProperty({ type: 'integer', nullable: true, example: 1, description: '1 is the best bid.' }) rank: number | null;
  @ApiProperty({ type: Number, nullable: true, example: 0.91, description: 'From 0 to 1; higher is better.' })
  score: number | null;
  @ApiProperty({
    enum: ['completed', 'failed', 'lapsed', 'declined'],
    nullable: true,
    example: null,
    description: 'How the award of the agent ended; null if it had no award, or before the outcome.',
  })
  result: Participant['result'];
}

class TranscriptEntryView {
  @ApiProperty({ ...TIME, description: 'When it happened.' }) at: string;
  @ApiProperty({ enum: TRANSCRIPT_KINDS, example: 'awarded', description: 'What happened.' }) kind: TranscriptKind;
  @ApiProperty({ ...ANY_OBJECT, example: { agentId: 'builder-01' }, description: 'The facts.' }) data: object;
}

export class ContractView {
  @ApiProperty({ example: '5f0c8d6e7a1b4c2d9e3f4a5b6c7d8e9f', description: 'The id.' }) id: string;
  @ApiProperty({ example: 'default', description: 'The namespace.' }) namespace: string;
  @ApiProperty({ enum: CONTRACT_STATES, example: 'announced', description: 'The state of the auction.' })
  state: Contract['state'];
  @ApiProperty({ type: [String], example: ['build'], description: 'The capabilities that the agents must have.' })
  capabilities: string[];
  @ApiProperty({ example: 'Build the branch main.', description: 'The task for the winner.' }) task: string;
  @ApiProperty({ type: ContractLimitsView, description: 'Bids above these limits are rejected.' })
  limits: ContractLimitsView;
  @ApiProperty({ type: ContractReserveView, description: 'What the award reserves.' }) reserve: ContractReserveView;
  @ApiProperty({ example: 'weighted', description: 'The rule that scores the bids.' }) scoring: string;
  @ApiProperty({ type: ScoringWeightsView, description: 'The weights of the parts of a score.' })
  weights: ScoringWeightsView;
  @ApiProperty({ example: 'key:4fT9sKq2Lm', description: 'The caller that announced the contract.' })
  announcedBy: string;
  @ApiProperty({ ...TIME, description: 'When it was announced.' }) announcedAt: string;
  @ApiProperty({ ...TIME, description: 'Bids at this time or later are rejected.' }) deadline: string;
  @ApiProperty({ ...COUNT, description: 'How many agents are invited.' }) invited: number;
  @ApiProperty({
    ...COUNT,
    example: 0,
    description: `How many capable agents were not invited, because a contract invites at most ${MAX_INVITED}.`,
  })
  notInvited: number;
  @ApiProperty({ ...COUNT, example: 1, description: 'How many of the invited agents have bid or refused.' })
  answered: number;
  @ApiProperty({ type: String, nullable: true, example: null, description: 'The agent that has the award.' })
  winner: string | null;
  @ApiProperty({ ...TIME, nullable: true, example: null, description: 'When the current award lapses.' })
  confirmBy: string | null;
  @ApiProperty({ ...TIME, nullable: true, example: null, description: 'When it was confirmed, expired or cancelled.' })
  endedAt: string | null;
  @ApiProperty({ enum: EXPIRY_REASONS, nullable: true, example: null, description: 'Why it expired.' })
  expiryReason: ExpiryReason | null;
  @ApiProperty({ example: false, description: 'Whether a run of the winner starts when the winner has confirmed.' })
  run: boolean;
  @ApiProperty({ type: String, nullable: true, example: null, description: 'The run of the winner.' })
  runId: string | null;
  @ApiProperty({ type: ContractOutcomeView, nullable: true, description: 'The actual cost and time of the work.' })
  outcome: ContractOutcomeView | null;
}

export class ContractDetailView extends ContractView {
  @ApiProperty({
    type: [BidView],
    description: 'All invited agents, the best bid first. Empty while the bids are sealed.',
  })
  bids: BidView[];
  @ApiProperty({
    type: [TranscriptEntryView],
    description: 'Everything that happened, in order. Entries about bids are left out while the bids are sealed.',
  })
  transcript: TranscriptEntryView[];
}

export class ContractPage extends PageView {
  @ApiProperty({ type: [ContractView], description: 'The contracts.' }) items: ContractView[];
}

export class BidReceiptView {
  @ApiProperty({ example: '5f0c8d6e7a1b4c2d9e3f4a5b6c7d8e9f', description: 'The contract.' }) contractId: string;
  @ApiProperty({ ...COUNT, example: 1, description: 'How many answers of the agent were accepted.' }) revision: number;
  @ApiProperty({ ...TIME, description: 'The agent may revise its answer before this time.' }) deadline: string;
}

export function toContractView(contract: Contract): ContractView {
  const { id, namespace, state, capabilities, task, limits, reserve, scoring, weights, by } = contract;
  const { invited, notInvited, answered, winner, expiryReason, run, runId, outcome } = contract;
  return {
    id,
    namespace,
    state,
    capabilities: [...capabilities],
    task,
    limits,
    reserve: { tokens: reserve.tokens, microUsd: reserve.microUsd },
    scoring,
    weights,
    announcedBy: by,
    announcedAt: new Date(contract.announcedAt).toISOString(),
    deadline: new Date(contract.deadline).toISOString(),
    invited,
    notInvited,
    answered,
    winner: winner === null ? null : localIdOf(winner),
    confirmBy: contract.confirmBy === null ? null : new Date(contract.confirmBy).toISOString(),
    endedAt: contract.endedAt === null ? null : new Date(contract.endedAt).toISOString(),
    expiryReason,
    run,
    runId,
    outcome: outcome && { ...outcome, reason: outcome.reason ?? null },
  };
}

export function toDetailView({ contract, participants, transcript }: ContractReading): ContractDetailView {
  const entries = transcript.map(({ at, kind, data }) => ({ at: at.toISOString(), kind, data }));
  return { ...toContractView(contract), bids: participants.map(toBidView), transcript: entries };
}

function toBidView({ agentId, answer, offer, revision, lateAnswers, rank, score, result }: Participant): BidView {
  const { price = null, etaMs = null, confidence = null } = offer ?? {};
  const facts = { revision, lateAnswers, rank, score, result };
  return { agentId: localIdOf(agentId), answer, price, etaMs, confidence, ...facts };
}
