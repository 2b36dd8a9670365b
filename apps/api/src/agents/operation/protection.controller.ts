import { Body, Controller, Get, Put } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty, ApiTags } from '@nestjs/swagger';
import { IsIn } from 'class-validator';
import {
  type Protection,
  type ProtectionExplanation,
  type ProtectionOverride,
  ProtectionStore,
} from '#rollcall/registry';
import { Mutation } from '../../mutation/mutation.js';
import { Permit, Scope } from '../../auth/route.access.js';

const OVERRIDES: ProtectionOverride[] = ['auto', 'protect', 'evict'];
const MODES: ProtectionExplanation['state'][] = ['normal', 'protecting', 'throttled'];
const REASONS: ProtectionExplanation['reason'][] = [
  'healthy',
  'few_silent',
  'mass_silence',
  'time_box_over',
  'healing',
  'healed',
  'operator',
  'gap',
  'clock_back',
];

class OverrideBody {
  @ApiProperty({
    enum: OVERRIDES,
    description:
      '`auto`: the share of silent agents decides. `protect`: no agent is evicted. `evict`: expired agents are evicted immediately.',
  })
  @IsIn(OVERRIDES)
  override: ProtectionOverride;
}

class ProtectionNumbersView {
  @ApiProperty({ type: 'integer', example: 10, description: 'All agents with a lease.' }) fleet: number;
  @ApiProperty({ type: 'integer', example: 0, description: 'Agents that missed heartbeats.' }) suspect: number;
  @ApiProperty({ type: 'integer', example: 6, description: 'Agents whose leases have ended.' }) expired: number;
  @ApiProperty({ example: 0.6, description: 'The share of the fleet that is silent.' }) silentShare: number;
  @ApiProperty({ example: 0.15, description: 'Above this share, no agent is evicted.' }) threshold: number;
  @ApiProperty({ type: 'integer', example: 0, description: 'How many agents the last sweep was allowed to evict.' })
  mayEvict: number;
}

class ProtectionExplanationView {
  @ApiProperty({ enum: MODES, example: 'protecting', description: '`throttled`: evictions are rate-limited.' })
  state: ProtectionExplanation['state'];
  @ApiProperty({ format: 'date-time', example: '2026-02-24T10:30:00.000Z', description: 'When this state began.' })
  since: string;
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    example: '2026-02-24T10:40:00.000Z',
    description: 'When `protecting` ends at the latest; null in the other states.',
  })
  until: string | null;
  @ApiProperty({ enum: REASONS, example: 'mass_silence', description: 'A stable code for the reason.' })
  reason: ProtectionExplanation['reason'];
  @ApiProperty({
    example:
      '6 of 10 agents are silent (60 %), more than 15 %: the cause may be the registry or the network, so no agent is evicted for now.',
    description: 'The reason as a text.',
  })
  text: string;
  @ApiProperty({ type: ProtectionNumbersView, description: 'The numbers of the last sweep.' })
  numbers: ProtectionNumbersView;
}

class OverrideView {
  @ApiProperty({
    enum: OVERRIDES,
    description:
      '`auto`: the share of silent agents decides. `protect`: no agent is evicted. `evict`: all expired agents are evicted.',
  })
  override: ProtectionOverride;
}

class ProtectionView extends OverrideView {
  @ApiProperty({
    type: ProtectionExplanationView,
    nullable: true,
    description: 'The last decision; null before the first sweep.',
  })
  explanation: ProtectionExplanationView | null;
}

@ApiTags('agents')
@Controller('registry/protection')
@Scope('installation')
export class ProtectionController {
  constructor(private readonly protection: ProtectionStore) {}

  @Get()
  @Permit('agents:read')
  @ApiOperation({ operationId: 'protection.get', summary: 'Get the state of self-preservation' })
  @ApiOkResponse({ type: ProtectionView, description: 'The state, and the reason for it.' })
  async read(): Promise<ProtectionView> {
    return toProtectionView(await this.protection.read());
  }

  @Put()
  @Permit('agents:operate')
  @Mutation({ audit: 'protection.overridden', record: ['override'] })
  @ApiOperation({
    operationId: 'protection.override',
    summary: 'Override self-preservation',
    description: 'Keep self-preservation on, evict silent agents, or return to the automatic decision.',
  })
  @ApiOkResponse({ type: OverrideView, description: 'The override in effect.' })
  async override(@Body() { override }: OverrideBody): Promise<OverrideView> {
    await this.protection.override(override);
    return { override };
  }
}

function toProtectionView({ override, explanation }: Protection): ProtectionView {
  if (!explanation) return { override, explanation: null };
  const { state, since, until, reason, text, numbers } = explanation;
  const moments = {
    since: new Date(since).toISOString(),
    until: until === null ? null : new Date(until).toISOString(),
  };
  return { override, explanation: { state, ...moments, reason, text, numbers } };
}
