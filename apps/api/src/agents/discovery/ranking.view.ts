import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import {
  type AboutAgent,
  type CandidateMark,
  CONTRACT_STATES,
  type ContractState,
  type ExcludedAgent,
  type Exclusion,
  type ExclusionCode,
  EXPIRY_REASONS,
  type ExpiryReason,
  type RankedCandidate,
  type Ranking,
} from '#rollcall/registry';
import { CandidateAgentView } from '../agent.view.js';

/** All codes and all marks. The compiler reports missing and unknown ones. */
const EXCLUSION_CODES = Object.keys({
  quarantined: 0,
  draining: 0,
  flapping: 0,
  circuit_open: 0,
  circuit_probing: 0,
  budget_exhausted: 0,
  capability_missing: 0,
  capability_unwanted: 0,
  provider_mismatch: 0,
  sandbox_level: 0,
  price_unknown: 0,
  price_too_high: 0,
  tokens_too_few: 0,
  label_mismatch: 0,
  left: 0,
} satisfies Record<ExclusionCode, 0>);
const MARKS = Object.keys({
  low_budget: 0,
  saturated: 0,
  suspect: 0,
  probe: 0,
  fuzzy_match: 0,
} satisfies Record<CandidateMark, 0>);

class CandidateView implements RankedCandidate {
  @ApiProperty({ type: 'integer', example: 1, description: 'Position, starting at 1.' }) rank: number;
  @ApiProperty({
    type: Number,
    nullable: true,
    example: 0,
    description: 'The score in the unit of the strategy; null if it is unknown, or if the strategy has no score.',
  })
  score: number | null;
  @ApiProperty({
    enum: MARKS,
    isArray: true,
    example: [],
    description: 'Conditions to consider before you call the agent.',
  })
  marks: CandidateMark[];
  @ApiProperty({
    type: [String],
    example: ['subscription, $0/task', '376k tokens remaining'],
    description: 'Why the agent has this rank.',
  })
  reasons: string[];
  @ApiProperty({ type: CandidateAgentView, description: 'The agent, without its card.' }) agent: CandidateAgentView;
}

class EligibilityView {
  @ApiProperty({
    example: 'its circuit admits a probe in 8 s',
    description: 'What must happen before the agent is eligible.',
  })
  text: string;
  @ApiPropertyOptional({
    type: 'integer',
    example: 8_000,
    description: 'The time until the agent is eligible, if waiting is enough.',
  })
  inMs?: number;
}

class ExclusionView implements Exclusion {
  @ApiProperty({ enum: EXCLUSION_CODES, example: 'circuit_open', description: 'A stable code for programs.' })
  code: ExclusionCode;
  @ApiProperty({ example: 'its circuit is open after 5 failures in a row', description: 'The reason as a text.' })
  text: string;
  @ApiProperty({ type: EligibilityView, description: 'What makes the agent eligible.' }) eligibleWhen: EligibilityView;
}

class ExcludedAgentView implements ExcludedAgent {
  @ApiProperty({ example: 'builder-02', description: 'The agent.' }) agentId: string;
  @ApiProperty({ example: 'swarm-builder', description: 'The name of the agent.' }) name: string;
  @ApiProperty({ type: [ExclusionView], description: 'All reasons.' }) exclusions: ExclusionView[];
}

class AboutAgentView implements AboutAgent {
  @ApiProperty({ example: 'builder-02', description: 'The agent.' }) agentId: string;
  @ApiProperty({
    type: 'integer',
    nullable: true,
    example: 12,
    description:
      'Its rank, which can be beyond `limit`. Null if the agent is excluded, or if its rank is above 10,000.',
  })
  rank: number | null;
  @ApiProperty({ type: Number, nullable: true, example: 0.03, description: 'Its score, as of a candidate.' })
  score: number | null;
  @ApiProperty({ type: [String], example: ['api, $0.003/1k tokens'], description: 'Why it has this rank.' })
  reasons: string[];
  @ApiProperty({ type: [ExclusionView], description: 'Why it is excluded; empty if it is not.' })
  exclusions: ExclusionView[];
}

class UnclaimedView {
  @ApiProperty({ example: 'biuld', description: 'A capability of the query that no agent claims.' })
  capability: string;
  @ApiProperty({ type: [String], example: ['build'], description: 'The most similar capabilities that are claimed.' })
  similar: string[];
}

class RankedContractView {
  @ApiProperty({ example: '5f0c8d6e7a1b4c2d9e3f4a5b6c7d8e9f', description: 'The id.' }) id: string;
  @ApiProperty({ enum: CONTRACT_STATES, example: 'confirmed', description: 'The state when the response was sent.' })
  state: ContractState;
  @ApiProperty({ type: String, nullable: true, example: 'builder-01', description: 'The agent that has the award.' })
  winner: string | null;
  @ApiProperty({ enum: EXPIRY_REASONS, nullable: true, example: null, description: 'Why no agent has won.' })
  expiryReason: ExpiryReason | null;
}

export class RankingView implements Ranking {
  @ApiProperty({ example: 'cheapest', description: 'The strategy that ranked the candidates.' }) prefer: string;
  @ApiProperty({
    example: 'US dollars for a task of 10000 tokens; lower is better',
    description: 'The unit of `score`.',
  })
  scoreMeaning: string;
  @ApiProperty({ type: [CandidateView], description: 'Routable agents that match, best first.' })
  candidates: CandidateView[];
  @ApiProperty({
    type: 'integer',
    nullable: true,
    example: null,
    description:
      'If there are no candidates: milliseconds until an excluded agent becomes routable. Null if there are candidates, or if waiting does not help.',
  })
  retryAfterMs: number | null;
  @ApiPropertyOptional({
    example: 'freshest',
    description:
      'The strategy that the query named, if it failed on this replica a moment ago. The strategy in `prefer` replaced it.',
  })
  failedStrategy?: string;
  @ApiPropertyOptional({
    type: [ExcludedAgentView],
    description: 'With `explain`: agents that are not candidates, sorted by the number of exclusions, fewest first.',
  })
  excluded?: ExcludedAgentView[];
  @ApiPropertyOptional({ type: 'integer', example: 1, description: 'With `explain`: how many agents are excluded.' })
  excludedTotal?: number;
  @ApiPropertyOptional({ type: AboutAgentView, description: 'With `explain` and `about`: this agent.' })
  about?: AboutAgentView;
  @ApiPropertyOptional({
    type: [UnclaimedView],
    description: 'With `explain`: capabilities of the query that no agent claims.',
  })
  unclaimed?: UnclaimedView[];
  @ApiPropertyOptional({ type: RankedContractView, description: 'With `contract-net`: the contract of the auction.' })
  contract?: RankedContractView;
}
