import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { EffectiveDefinition } from '#rollcall/agent-runtime';
import { LimitView } from '../budgets/amount.js';
import { ResolvedModelView } from '../models/models.dto.js';

class EffectiveToolView {
  @ApiProperty({ example: 'clock', description: 'The name of the tool.' }) name: string;
  @ApiProperty({ example: 'clock', description: 'The toolbox that it comes from.' }) origin: string;
  @ApiPropertyOptional({
    type: [String],
    example: ['Read'],
    description: 'Other names by which the definition allows the tool.',
  })
  aliases?: string[];
}

class EffectiveSkillView {
  @ApiProperty({ example: 'release-notes', description: 'The name of the skill.' }) name: string;
  @ApiProperty({ enum: ['preload', 'catalog'], example: 'catalog', description: 'How the model gets the skill.' })
  mode: 'preload' | 'catalog';
  @ApiProperty({
    type: 'integer',
    nullable: true,
    example: 22,
    description: 'Its estimated part of the system prompt, in tokens. Null: the skill does not exist any more.',
  })
  tokens: number | null;
}

class EffectiveLimitsView {
  @ApiProperty({ type: 'integer', example: 20, description: 'How many model replies a run may use.' })
  maxIterations: number;
  @ApiProperty({ type: 'integer', example: 3, description: 'How many levels of delegation are allowed.' })
  maxDelegationDepth: number;
  @ApiProperty({
    type: 'integer',
    nullable: true,
    example: null,
    description: 'Calls at the same time. Null: no limit.',
  })
  maxConcurrency: number | null;
  @ApiProperty({
    enum: ['queue', 'reject'],
    example: 'queue',
    description: 'What happens to calls above `maxConcurrency`.',
  })
  whenBusy: 'queue' | 'reject';
}

class EffectiveBudgetView {
  @ApiProperty({
    enum: ['run', 'agent', 'namespace'],
    example: 'run',
    description: 'Whose spending the budget limits.',
  })
  kind: 'run' | 'agent' | 'namespace';
  @ApiProperty({
    type: String,
    nullable: true,
    example: null,
    description: 'The agent or the namespace; null for the budget that each run gets.',
  })
  subject: string | null;
  @ApiProperty({ example: 'total', description: 'The window of the limit.' }) window: string;
  @ApiProperty({ type: LimitView, description: 'The limit.' }) limit: LimitView;
  @ApiProperty({ type: LimitView, description: 'What can still be reserved.' }) remaining: LimitView;
}

export class EffectiveView implements EffectiveDefinition {
  @ApiProperty({ example: 'native', description: 'The agent provider.' }) provider: string;
  @ApiPropertyOptional({
    type: ResolvedModelView,
    description: 'The model and the rule that chose it; absent if the provider chooses the model.',
  })
  model?: ResolvedModelView;
  @ApiProperty({ type: [EffectiveToolView], description: 'The tools of a run without a parent.' })
  tools: EffectiveToolView[];
  @ApiProperty({ type: [EffectiveSkillView], description: 'The skills.' }) skills: EffectiveSkillView[];
  @ApiProperty({ type: EffectiveLimitsView, description: 'The limits, with defaults.' }) limits: EffectiveLimitsView;
  @ApiProperty({
    type: [String],
    example: ['traceRuns', 'logger', 'recovery', 'timeout', 'weather.stamp', 'budget'],
    description:
      'The middleware around each run, from the outermost to the innermost. The name of a middleware of a plugin begins with the plugin.',
  })
  middleware: string[];
  @ApiProperty({
    type: [String],
    example: ['weather'],
    description: 'Only replicas with these plugins execute its runs.',
  })
  plugins: string[];
  @ApiProperty({
    type: [EffectiveBudgetView],
    description: 'The budgets on which each call reserves an amount, except the budget of the fleet.',
  })
  budgets: EffectiveBudgetView[];
}
