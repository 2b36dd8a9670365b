import { ApiProperty, getSchemaPath } from '@nestjs/swagger';
import {
  AGENT_STATES,
  type AgentInfo,
  type AgentShutdown,
  SHUTDOWN_PHASES,
  type ShutdownReport,
} from '#rollcall/agent-runtime';
import { PageView } from '../http/page.js';

const AGENT_TYPES = ['sdk', 'api', 'in-process', 'remote', 'subprocess'] as const satisfies AgentInfo['agentType'][];

export class HostedAgentView implements AgentInfo {
  @ApiProperty({ example: 'default', description: 'The namespace.' }) namespace: string;
  @ApiProperty({ example: 'reviewer', description: 'The name, which is also its agentId.' }) name: string;
  @ApiProperty({ enum: AGENT_TYPES, example: 'in-process', description: 'How the agent is implemented.' })
  agentType: AgentInfo['agentType'];
  @ApiProperty({ example: 'native', description: 'The agent provider that built it.' }) provider: string;
  @ApiProperty({
    enum: AGENT_STATES,
    example: 'idle',
    description: 'The current state of the agent. For an agent of another replica, it may be one second old.',
  })
  state: AgentInfo['state'];
  @ApiProperty({ type: 'integer', example: 0, description: 'The number of calls in progress on its replica.' })
  inFlight: number;
  @ApiProperty({
    type: String,
    nullable: true,
    example: 'reviewer',
    description: 'Its definition; null if it was spawned without one.',
  })
  definition: string | null;
  @ApiProperty({ type: 'integer', nullable: true, example: 3, description: 'The revision that its next call uses.' })
  revision: number | null;
  @ApiProperty({
    example: '0c5ce7a1-3f0f-4a0e-9d2b-6f1a2f6c9b10',
    description: 'The replica that hosts it.',
  })
  replicaId: string;
  @ApiProperty({
    type: String,
    format: 'date-time',
    example: '2026-02-24T10:00:00.000Z',
    description: 'When it was spawned.',
  })
  spawnedAt: string;
  @ApiProperty({ example: 'key:7hW2mNp4Xz', description: 'The owner.' }) spawnedBy: string;
}

export class HostedAgentPage extends PageView {
  @ApiProperty({ type: [HostedAgentView], description: 'The agents, sorted by name.' }) items: HostedAgentView[];
}

export class AgentShutdownView implements AgentShutdown {
  @ApiProperty({
    enum: SHUTDOWN_PHASES,
    example: 'stop',
    description:
      '`stop`: it had no call in progress. `drain`: its calls were aborted and have ended. `abort`: it failed to release its ' +
      'resources. `kill`: it had not ended at the deadline, and was abandoned.',
  })
  phase: AgentShutdown['phase'];
  @ApiProperty({ type: 'integer', example: 12, description: 'How long it took, in milliseconds.' }) durationMs: number;
  @ApiProperty({ example: false, description: 'Whether the agent was abandoned at the deadline.' }) forced: boolean;
  @ApiProperty({
    type: String,
    nullable: true,
    example: null,
    description: 'The failure; null if there was none. The agent is removed in any case.',
  })
  error: string | null;
}

export class ShutdownReportView implements ShutdownReport {
  @ApiProperty({ type: [String], example: ['reviewer'], description: 'The agents without a failure, sorted.' })
  succeeded: string[];
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'string' },
    example: {},
    description: 'The message of each failure, by agent.',
  })
  failed: Record<string, string>;
  @ApiProperty({
    type: 'object',
    additionalProperties: { $ref: getSchemaPath(AgentShutdownView) },
    example: { reviewer: { phase: 'stop', durationMs: 12, forced: false, error: null } },
    description: 'How the shutdown of each agent ended.',
  })
  details: Record<string, AgentShutdownView>;
}
