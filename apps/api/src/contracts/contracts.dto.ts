import { type ApiParamOptions, ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayNotEmpty,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsNumber,
  IsOptional,
  IsString,
  Length,
  Max,
  MaxLength,
  Min,
} from 'class-validator';
import {
  CONTRACT_STATES,
  type ContractState,
  DEFAULT_WEIGHTS,
  MAX_CAPABILITIES,
  MAX_ETA_MS,
  MAX_TASK_LENGTH,
  MAX_WINDOW_MS,
  MIN_WINDOW_MS,
} from '#rollcall/registry';
import { AMOUNT, AmountBody, IsAmount } from '../budgets/amount.js';
import { PageQuery } from '../http/page.js';
import { Nested, Optional } from '../http/validation/fields.js';

export const CONTRACT_ID: ApiParamOptions = {
  name: 'id',
  description: 'The id of the contract.',
  example: '5f0c8d6e7a1b4c2d9e3f4a5b6c7d8e9f',
};

const DEFAULT_BID_MS = 5_000;
const DEFAULT_CONFIRM_MS = 10_000;
const WINDOW = { type: 'integer', minimum: MIN_WINDOW_MS, maximum: MAX_WINDOW_MS } as const;
const ETA = { type: 'integer', minimum: 1, maximum: MAX_ETA_MS } as const;
const WEIGHT = { type: Number, minimum: 0, maximum: 1_000 } as const;

const IsWindow = (): PropertyDecorator => (target, key) =>
  [IsInt(), Min(MIN_WINDOW_MS), Max(MAX_WINDOW_MS)].forEach((check) => check(target, key));
const IsEta = (): PropertyDecorator => (target, key) =>
  [IsInt(), Min(1), Max(MAX_ETA_MS)].forEach((check) => check(target, key));
const IsWeight = (): PropertyDecorator => (target, key) =>
  [IsNumber(), Min(0), Max(1_000)].forEach((check) => check(target, key));

/** Accepts `a,b` in a query string. Reads at most one value more than there are states; validation then rejects the list. */
const States = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' ? value.split(',', CONTRACT_STATES.length + 1) : value,
  );

class ContractLimitsBody {
  @ApiPropertyOptional({ ...AMOUNT, example: 100_000, description: 'The highest price, in micro-dollars.' })
  @Optional()
  @IsAmount()
  price?: number;
  @ApiPropertyOptional({ ...ETA, example: 600_000, description: 'The longest time, in milliseconds.' })
  @Optional()
  @IsEta()
  etaMs?: number;
}

class WeightsBody {
  @ApiPropertyOptional({ ...WEIGHT, example: DEFAULT_WEIGHTS.price, description: 'A low price.' })
  @Optional()
  @IsWeight()
  price?: number;
  @ApiPropertyOptional({ ...WEIGHT, example: DEFAULT_WEIGHTS.eta, description: 'A short time.' })
  @Optional()
  @IsWeight()
  eta?: number;
  @ApiPropertyOptional({ ...WEIGHT, example: DEFAULT_WEIGHTS.confidence, description: 'The confidence of the agent.' })
  @Optional()
  @IsWeight()
  confidence?: number;
  @ApiPropertyOptional({
    ...WEIGHT,
    example: DEFAULT_WEIGHTS.reliability,
    description: 'How well the agent kept its earlier bids.',
  })
  @Optional()
  @IsWeight()
  reliability?: number;
}

export class AnnounceBody {
  @ApiProperty({
    type: [String],
    maxItems: MAX_CAPABILITIES,
    example: ['build'],
    description: 'Routable agents that claim all of these capabilities are invited.',
  })
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(MAX_CAPABILITIES)
  @IsString({ each: true })
  @Length(1, 100, { each: true })
  capabilities: string[];

  @ApiProperty({
    minLength: 1,
    maxLength: MAX_TASK_LENGTH,
    example: 'Build the branch main.',
    description: 'What the winner shall do. The invited agents can read it.',
  })
  @IsString()
  @Length(1, MAX_TASK_LENGTH)
  task: string;

  @ApiPropertyOptional({
    ...WINDOW,
    example: DEFAULT_BID_MS,
    default: DEFAULT_BID_MS,
    description: 'How long agents may bid. The auction closes earlier when all of them have answered.',
  })
  @Optional(DEFAULT_BID_MS)
  @IsWindow()
  bidWithinMs: number = DEFAULT_BID_MS;

  @ApiPropertyOptional({
    ...WINDOW,
    example: DEFAULT_CONFIRM_MS,
    default: DEFAULT_CONFIRM_MS,
    description: 'How long the winner may take to confirm. After this time, the award goes to the runner-up.',
  })
  @Optional(DEFAULT_CONFIRM_MS)
  @IsWindow()
  confirmWithinMs: number = DEFAULT_CONFIRM_MS;

  @ApiPropertyOptional({ type: ContractLimitsBody, description: 'Bids above these limits are rejected.' })
  @Optional()
  @Nested(() => ContractLimitsBody)
  limits?: ContractLimitsBody;

  @ApiPropertyOptional({
    type: AmountBody,
    description:
      'What the award reserves on the budgets of the winner, the caller, the namespace and the fleet. Default: no tokens, and ' +
      'the price of the winning bid.',
  })
  @Optional()
  @Nested(() => AmountBody)
  reserve?: AmountBody;

  @ApiPropertyOptional({ example: 'weighted', default: 'weighted', description: 'The rule that scores the bids.' })
  @Optional()
  @IsString()
  @Length(1, 50)
  scoring?: string;

  @ApiPropertyOptional({
    type: WeightsBody,
    description: 'How much each part of the score counts. An absent weight has its default; only the ratios matter.',
  })
  @Optional()
  @Nested(() => WeightsBody)
  weights?: WeightsBody;

  @ApiPropertyOptional({
    example: false,
    default: false,
    description: 'Start a run of the winner when the winner has confirmed. Also requires the permission `runs:start`.',
  })
  @Optional()
  @IsBoolean()
  run?: boolean;
}

class AgentAnswerBody {
  @ApiProperty({ minLength: 1, maxLength: 128, example: 'builder-01', description: 'The agent that answers.' })
  @IsString()
  @Length(1, 128)
  agentId: string;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    example: 1,
    description: 'The generation of its registration. Required with a lease token.',
  })
  @Optional()
  @IsInt()
  @Min(1)
  @Max(Number.MAX_SAFE_INTEGER)
  generation?: number;
}

export class BidBody extends AgentAnswerBody {
  @ApiPropertyOptional({ ...AMOUNT, example: 40_000, description: 'The price in micro-dollars.' })
  @Optional()
  @IsAmount()
  price?: number;

  @ApiPropertyOptional({ ...ETA, example: 90_000, description: 'How long the work takes, in milliseconds.' })
  @Optional()
  @IsEta()
  etaMs?: number;

  @ApiPropertyOptional({
    type: Number,
    minimum: 0,
    maximum: 1,
    example: 0.9,
    description: 'How sure the agent is that it will succeed.',
  })
  @Optional()
  @IsNumber()
  @Min(0)
  @Max(1)
  confidence?: number;

  @ApiPropertyOptional({
    maxLength: 500,
    example: 'I have this branch checked out.',
    description: 'A note for people.',
  })
  @Optional()
  @IsString()
  @MaxLength(500)
  note?: string;

  @ApiPropertyOptional({
    example: false,
    default: false,
    description: 'Refuse instead of bidding. Otherwise, `price`, `etaMs` and `confidence` are required.',
  })
  @Optional()
  @IsBoolean()
  refuse?: boolean;
}

export class ConfirmBody extends AgentAnswerBody {
  @ApiPropertyOptional({
    example: true,
    default: true,
    description: 'False: the agent declines the award, and the runner-up gets it immediately.',
  })
  @Optional()
  @IsBoolean()
  accept?: boolean;
}

export class ContractOutcomeBody extends AmountBody {
  @ApiProperty({ example: true, description: 'Whether the agent did the task.' })
  @IsBoolean()
  ok: boolean;

  @ApiPropertyOptional({
    ...ETA,
    minimum: 0,
    example: 95_000,
    description: 'How long the work took. Absent: the time since the confirmation.',
  })
  @Optional()
  @IsInt()
  @Min(0)
  @Max(MAX_ETA_MS)
  ms?: number;
}

export class ContractsQuery extends PageQuery {
  @ApiPropertyOptional({
    type: [String],
    enum: CONTRACT_STATES,
    example: ['bidding', 'awarded'],
    description: 'Only contracts in these states.',
  })
  @IsOptional()
  @States()
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(CONTRACT_STATES.length)
  @IsIn(CONTRACT_STATES, { each: true })
  state?: ContractState[];
}

export const ANNOUNCE_EXAMPLES = {
  announce: {
    summary: 'Ask all builders for a bid',
    value: {
      capabilities: ['build'],
      task: 'Build the branch main.',
      bidWithinMs: 5_000,
      limits: { price: 100_000, etaMs: 600_000 },
    },
  },
  run: {
    summary: 'Start a run with the winner, and prefer fast agents',
    value: {
      capabilities: ['build'],
      task: 'Build the branch main.',
      weights: { price: 0.1, eta: 0.7 },
      run: true,
    },
  },
};

export const BID_EXAMPLES = {
  bid: {
    summary: 'Bid',
    value: { agentId: 'builder-01', generation: 1, price: 40_000, etaMs: 90_000, confidence: 0.9 },
  },
  refuse: { summary: 'Refuse', value: { agentId: 'builder-01', generation: 1, refuse: true, note: 'Too busy.' } },
};
