import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { DefinitionContent } from '#rollcall/agent-runtime';
import { CostModelBody } from '../agents/registration/registration.dto.js';
import { LimitView } from '../budgets/amount.js';

class DefinitionSkillView {
  @ApiProperty({ example: 'release-notes', description: 'The name of the skill.' }) name: string;
  @ApiProperty({
    enum: ['preload', 'catalog'],
    example: 'catalog',
    description: '`preload`: the whole text is in the system prompt. `catalog`: the model reads it when needed.',
  })
  mode: 'preload' | 'catalog';
}

/** Values are checked by the runtime, which reports all problems at once. */
class OptionalContent {
  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    example: { url: 'https://agents.example.com/a' },
    description: 'The settings of a provider other than `native`. GET /v1/providers describes them.',
  })
  settings?: Record<string, unknown>;

  @ApiPropertyOptional({
    oneOf: [
      { type: 'string', nullable: true },
      { type: 'object', additionalProperties: true },
    ],
    example: 'inherit',
    description:
      'A preset, an alias, `inherit` (the model of the parent), or an inline choice such as `{"preset": "fast", "settings": {}}`. ' +
      'Null or absent: the default preset.',
  })
  model?: DefinitionContent['model'];

  @ApiPropertyOptional({
    type: [String],
    nullable: true,
    example: ['clock', 'recall'],
    description: 'The tools that the agent may use. Null or absent: all. An empty list: none.',
  })
  tools?: readonly string[] | null;

  @ApiPropertyOptional({
    type: [String],
    example: ['http_fetch'],
    description: 'Tools that the agent may not use, whatever `tools` contains.',
  })
  disallowedTools?: readonly string[];

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: { type: 'string', enum: ['operator', 'caller'] },
    example: { http_fetch: 'operator' },
    description:
      'Tools whose calls must be approved, and who may approve them: only an operator, or also the caller of the run. A definition can ' +
      'only add to what a tool demands.',
  })
  approve?: DefinitionContent['approve'];

  @ApiPropertyOptional({ type: [DefinitionSkillView], description: 'The skills that the agent knows.' })
  skills?: readonly DefinitionSkillView[];

  @ApiPropertyOptional({
    type: [String],
    example: ['code.review'],
    description: 'The capabilities that the agent claims in the registry. Invalid capabilities are not claimed.',
  })
  capabilities?: readonly string[];

  @ApiPropertyOptional({
    type: CostModelBody,
    description:
      'The price of the agent in the registry. Absent: that of its model, with three input tokens for each output token.',
  })
  costModel?: CostModelBody;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    maximum: 1_000,
    example: 20,
    description: 'How many model replies a run may use.',
  })
  maxIterations?: number;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 0,
    maximum: 32,
    example: 3,
    description: 'How many levels of delegation are allowed.',
  })
  maxDelegationDepth?: number;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    maximum: 10_000,
    example: 4,
    description: 'How many calls the agent handles at the same time. Absent: no limit.',
  })
  maxConcurrency?: number;

  @ApiPropertyOptional({
    enum: ['queue', 'reject'],
    example: 'queue',
    description: 'What happens to calls above `maxConcurrency`.',
  })
  whenBusy?: 'queue' | 'reject';

  @ApiPropertyOptional({ type: LimitView, description: 'What one run and its descendants may use.' })
  budget?: LimitView;

  @ApiPropertyOptional({
    enum: ['union', 'intersection', 'off'],
    example: 'off',
    description: 'How the tools of a parent are combined with those of the agent.',
  })
  inheritTools?: 'union' | 'intersection' | 'off';

  @ApiPropertyOptional({
    type: [String],
    example: ['tester'],
    description: 'The agents that the agent may delegate to. Absent: all. An empty list: none.',
  })
  subagents?: readonly string[];

  @ApiPropertyOptional({
    example: true,
    description: 'Whether the agent may ask its caller a question. The run then waits for a message. Absent: no.',
  })
  mayAsk?: boolean;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    example: { type: 'object', properties: { problems: { type: 'array' } } },
    description: 'The JSON Schema of the answer. The answer is then JSON.',
  })
  outputSchema?: Record<string, unknown>;

  @ApiPropertyOptional({
    type: [String],
    example: ['weather'],
    description:
      'The plugins that the agent needs. Only replicas that have them execute its runs. Plugins whose tools, provider or model vendor the ' +
      'definition names are added.',
  })
  plugins?: readonly string[];

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    example: { color: 'blue' },
    description: 'Values that are stored and have no effect.',
  })
  metadata?: Record<string, unknown>;
}

const DESCRIPTION = {
  maxLength: 8_192,
  example: 'Reviews changes of code. Use it before a merge.',
  description: 'What the agent is for, for callers and for agents that delegate.',
};
const INSTRUCTIONS = {
  maxLength: 65_536,
  example: 'You review code. List each problem with its line.',
  description: 'The system prompt.',
};
const PROVIDER = { example: 'native', description: 'The agent provider; GET /v1/providers lists them.' };

export class ContentBody extends OptionalContent {
  @ApiProperty(DESCRIPTION) description: string;
  @ApiPropertyOptional({ ...INSTRUCTIONS, default: '' }) instructions?: string;
  @ApiPropertyOptional({ ...PROVIDER, default: 'native' }) provider?: string;
}

export class ContentView extends OptionalContent implements DefinitionContent {
  @ApiProperty(DESCRIPTION) description: string;
  @ApiProperty({ ...INSTRUCTIONS, maxLength: 100_000 }) instructions: string;
  @ApiProperty(PROVIDER) provider: string;
}
