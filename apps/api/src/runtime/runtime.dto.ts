import { type ApiParamOptions, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsInt, IsObject, IsString, Max, MaxLength, Min } from 'class-validator';
import { AGENT_STATES } from '#rollcall/agent-runtime';
import { ContentBody } from '../definitions/content.view.js';
import { PageQuery } from '../http/page.js';
import { Optional, QueryNumber } from '../http/validation/fields.js';

export const AGENT_NAME: ApiParamOptions = { name: 'name', description: 'The name of the agent.', example: 'greeter' };

const MAX_TIMEOUT_MS = 10_000;

export class SpawnBody {
  @ApiPropertyOptional({ maxLength: 128, example: 'reviewer', description: 'The name of a definition.' })
  @Optional()
  @IsString()
  @MaxLength(256)
  definition?: string;

  @ApiPropertyOptional({
    type: ContentBody,
    description: 'What the agent is and may do, for an agent without a definition. Send it instead of `definition`.',
  })
  @Optional()
  @IsObject()
  content?: Record<string, unknown>;

  @ApiPropertyOptional({
    maxLength: 128,
    example: 'reviewer-2',
    description: 'The agentId. If absent, the name of the definition.',
  })
  @Optional()
  @IsString()
  @MaxLength(256)
  name?: string;
}

export class HostedAgentsQuery extends PageQuery {
  @ApiPropertyOptional({ enum: AGENT_STATES, example: 'idle', description: 'Only agents in this state.' })
  @Optional()
  @IsIn(AGENT_STATES)
  state?: (typeof AGENT_STATES)[number];

  @ApiPropertyOptional({ example: 'native', description: 'Only agents of this provider.' })
  @Optional()
  @IsString()
  @MaxLength(100)
  provider?: string;
}

const TIMEOUT = {
  type: 'integer',
  minimum: 0,
  maximum: MAX_TIMEOUT_MS,
  example: 5_000,
  description: 'How long the shutdown may take, in milliseconds. Absent: 10 seconds.',
} as const;

export class ShutdownQuery {
  @ApiPropertyOptional(TIMEOUT)
  @Optional()
  @QueryNumber()
  @IsInt()
  @Min(0)
  @Max(MAX_TIMEOUT_MS)
  timeoutMs?: number;
}

export class ShutdownBody {
  @ApiPropertyOptional(TIMEOUT)
  @Optional()
  @IsInt()
  @Min(0)
  @Max(MAX_TIMEOUT_MS)
  timeoutMs?: number;
}

export const SPAWN_EXAMPLES = {
  content: {
    summary: 'An agent without a definition',
    value: {
      name: 'greeter',
      content: { description: 'Greets visitors.', instructions: 'Greet the visitor in one sentence.' },
    },
  },
  definition: { summary: 'An agent of a definition', value: { definition: 'reviewer' } },
};
