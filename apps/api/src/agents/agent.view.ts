import { ApiProperty, OmitType } from '@nestjs/swagger';
import {
  type AgentBudget,
  type AgentHealth,
  type AgentLatency,
  type AgentLoad,
  type AgentProviderFacts,
  type AgentRecord,
  type AgentStatus,
  type CircuitPhase,
  type CostModel,
  DESIRED_STATES,
  type DesiredState,
  type HealthState,
  LEAVE_REASONS,
  type LeaveReason,
  WORK_MODES,
  type WorkMode,
} from '#rollcall/registry';
import { PageView } from '../http/page.js';
import { HeartbeatPlanView } from './liveness/heartbeat.js';

export const AGENT_STATUSES: AgentStatus[] = ['active', 'suspect', 'draining', 'quarantined', 'left'];
export const CIRCUIT_PHASES: CircuitPhase[] = ['closed', 'open', 'half_open'];
const HEALTH_STATES: HealthState[] = ['active', 'suspect'];

class AgentProviderView implements AgentProviderFacts {
  @ApiProperty({ example: 'copilot', description: 'The vendor or product behind the agent.' }) adapter: string;
  @ApiProperty({ example: 'subscription', description: 'How the agent is paid for: `subscription`, `api`, `local`, …' })
  type: string;
  @ApiProperty({ type: String, nullable: true, example: 'github-copilot-business', description: 'The plan, if any.' })
  plan: string | null;
}

export class AgentBudgetView implements AgentBudget {
  @ApiProperty({ type: 'integer', nullable: true, example: 500_000, description: 'The limit. Null means unlimited.' })
  totalTokens: number | null;
  @ApiProperty({ type: 'integer', example: 123_456, description: 'Tokens used so far.' }) usedTokens: number;
  @ApiProperty({ type: 'integer', nullable: true, example: 376_544, description: 'Tokens left. Null means unlimited.' })
  remaining: number | null;
  @ApiProperty({ example: 'langfuse', description: 'The source of the count: `ledger`, `reported` or a usage source.' })
  source: string;
}

class AgentHealthView implements AgentHealth {
  @ApiProperty({
    enum: HEALTH_STATES,
    nullable: true,
    example: 'active',
    description: '`suspect`: heartbeats are missing. Null if the agent has left.',
  })
  state: HealthState | null;
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    example: '2026-02-24T10:30:00.000Z',
    description: 'When the last heartbeat was recorded; null before the first heartbeat.',
  })
  lastHeartbeat: string | null;
  @ApiProperty({ type: 'integer', example: 0, description: 'Consecutive failed calls, as reported by callers.' })
  consecutiveFailures: number;
  @ApiProperty({ enum: CIRCUIT_PHASES, description: 'The circuit breaker of the agent.' })
  circuitBreakerState: CircuitPhase;
}

class AgentLoadView implements AgentLoad {
  @ApiProperty({ type: 'integer', example: 3, description: 'Tasks in progress.' }) inFlight: number;
  @ApiProperty({
    type: 'integer',
    nullable: true,
    example: 8,
    description: 'How many tasks the agent accepts at the same time.',
  })
  capacity: number | null;
  @ApiProperty({ example: 0.4, description: '0 is idle, 1 is full.' }) ratio: number;
}

class CostModelView implements CostModel {
  @ApiProperty({ type: Number, nullable: true, example: 0, description: 'US dollars for a task.' })
  usdPerTask: number | null;
  @ApiProperty({ type: Number, nullable: true, example: 0.003, description: 'US dollars for 1,000 tokens.' })
  usdPer1kTokens: number | null;
}

class AgentLatencyView implements AgentLatency {
  @ApiProperty({
    type: Number,
    nullable: true,
    example: 1_200,
    description:
      'What the agent states: `latencyMs` of its last heartbeat with this field, or else `declaredMs` of its registration.',
  })
  declaredMs: number | null;
  @ApiProperty({
    type: Number,
    nullable: true,
    example: 850,
    description: 'The average of the latencies that callers report.',
  })
  observedMs: number | null;
}

export class AgentView implements AgentRecord {
  @ApiProperty({ example: 'builder-01', description: 'Unique within its namespace, and case-sensitive.' })
  agentId: string;
  @ApiProperty({ example: 'default', description: 'The namespace of the agent.' }) namespace: string;
  @ApiProperty({ example: 'swarm-builder', description: 'A name for people.' }) name: string;
  @ApiProperty({
    enum: AGENT_STATUSES,
    description: 'The first status that applies, in the order left, quarantined, draining, suspect, active.',
  })
  status: AgentStatus;
  @ApiProperty({
    type: String,
    nullable: true,
    example: 'https://builder.example:5091/',
    description: 'The URL at which the agent is called; null if it has none.',
  })
  endpoint: string | null;
  @ApiProperty({
    enum: WORK_MODES,
    description: 'How work reaches the agent. `push`: its endpoint is called. `pull`: it takes tasks.',
  })
  work: WorkMode;
  @ApiProperty({ example: false, description: 'Whether an interrupted call of the agent may be repeated.' })
  idempotent: boolean;
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    nullable: true,
    example: { name: 'swarm-builder' },
    description: 'The A2A agent card, unchanged.',
  })
  agentCard: Record<string, unknown> | null;
  @ApiProperty({
    type: [String],
    example: ['plan', 'build', 'code-generation'],
    description: 'What the agent claims to be able to do.',
  })
  capabilities: readonly string[];
  @ApiProperty({
    type: 'integer',
    example: 2,
    description: 'How strictly the agent is isolated. 0 means no isolation.',
  })
  sandboxLevel: number;
  @ApiProperty({ type: AgentProviderView, description: 'Who provides the model.' }) provider: AgentProviderView;
  @ApiProperty({ type: AgentBudgetView, description: 'The tightest budget of the agent.' }) budget: AgentBudgetView;
  @ApiProperty({ type: AgentHealthView, description: 'The health of the agent as the registry observes it.' })
  health: AgentHealthView;
  @ApiProperty({ format: 'date-time', example: '2026-02-24T10:00:00.000Z', description: 'When this generation began.' })
  registeredAt: string;
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    example: '2026-02-24T10:25:00.000Z',
    description: 'When a caller last reported an outcome.',
  })
  lastTaskAt: string | null;
  @ApiProperty({ type: 'integer', example: 1, description: 'Counts the registrations of this agentId.' })
  generation: number;
  @ApiProperty({
    type: String,
    nullable: true,
    example: null,
    description: 'The definition of an in-process agent, as `name@revision`.',
  })
  definition: string | null;
  @ApiProperty({ enum: DESIRED_STATES, description: 'The state that an operator has requested.' })
  desiredState: DesiredState;
  @ApiProperty({ type: AgentLoadView, description: 'How busy the agent is.' }) load: AgentLoadView;
  @ApiProperty({ type: CostModelView, description: 'What the agent costs.' }) costModel: CostModelView;
  @ApiProperty({
    type: AgentLatencyView,
    description: 'How long the agent takes to respond. Rankings use `observedMs`, or else `declaredMs`.',
  })
  latency: AgentLatencyView;
  @ApiProperty({
    type: 'integer',
    nullable: true,
    example: null,
    description:
      'How many tokens a call usually needs, as the agent declares. Replaces the general estimate of a call.',
  })
  typicalTokens: number | null;
  @ApiProperty({ type: String, nullable: true, example: '1.4.2', description: 'The version of the agent.' })
  version: string | null;
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'string' },
    example: { team: 'platform' },
    description: 'Key-value pairs that queries can filter by.',
  })
  labels: Readonly<Record<string, string>>;
  @ApiProperty({
    example: 'key:4fT9sKq2Lm',
    description:
      'The principal that registered the agent. Only this principal, operators and the holder of the lease token may act for the agent.',
  })
  owner: string;
  @ApiProperty({
    enum: [...LEAVE_REASONS, null],
    nullable: true,
    example: null,
    description: 'Why the agent left; null while it is registered.',
  })
  leaveReason: LeaveReason | null;
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    example: null,
    description: 'When the agent left; null while it is registered.',
  })
  leftAt: string | null;
}

/** An agent as queries return it: without the card, which may be large. */
export class CandidateAgentView extends OmitType(AgentView, ['agentCard']) {}

export class AgentPage extends PageView {
  @ApiProperty({ type: [AgentView], description: 'In the order of their agentIds.' }) items: AgentView[];
}

export class RegistrationView {
  @ApiProperty({ example: 'builder-01', description: 'The agentId of the request, or a generated one.' })
  agentId: string;
  @ApiProperty({
    type: 'integer',
    example: 1,
    description: 'The number of this registration. Send it with every write of this agent.',
  })
  generation: number;
  @ApiProperty({
    example: 'rl_3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    description: 'The credential of this registration. Only this response contains it.',
  })
  leaseToken: string;
  @ApiProperty({ type: HeartbeatPlanView, description: 'When to send heartbeats.' }) heartbeat: HeartbeatPlanView;
  @ApiProperty({ type: AgentView, description: 'The agent as it is listed now.' }) agent: AgentView;
}
