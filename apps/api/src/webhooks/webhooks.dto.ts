import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { IsBoolean, IsIn, IsInt, IsOptional, IsString, Length, Matches, Max, MaxLength, Min } from 'class-validator';
import {
  CURSOR_PATTERN,
  type DeliveryRow,
  type DeliveryState,
  type IssuedWebhook,
  type Webhook,
  type WebhookFacts,
} from '#rollcall/platform';
import { EventFilterQuery, START_PATTERN } from '../events/events.dto.js';
import { Optional } from '../http/optional.js';
import { PageQuery } from '../http/page.js';
import { SinkStatusView, toStatusView } from '../sinks/sinks.dto.js';

const USUAL_OVERLAP_S = 24 * 3_600;
const LONGEST_OVERLAP_S = 30 * 24 * 3_600;
const STATES: DeliveryState[] = ['delivered', 'retrying', 'parked', 'pending'];

class WebhookBody extends EventFilterQuery {
  @ApiPropertyOptional({ type: String, nullable: true, example: 'pager of the ops team' })
  @IsOptional()
  @IsString()
  @MaxLength(200)
  description?: string | null;

  @ApiPropertyOptional({ example: false, description: 'While it is true nothing is sent, and nothing is lost.' })
  @Optional()
  @IsBoolean()
  paused?: boolean;
}

export class ChangeWebhookBody extends WebhookBody {
  @ApiPropertyOptional({
    example: 'https://ops.example/rollcall',
    description: 'https, or http in networks you named.',
  })
  @Optional()
  @IsString()
  @Length(1, 2_000)
  url?: string;
}

export class CreateWebhookBody extends WebhookBody {
  @ApiProperty({ example: 'https://ops.example/rollcall', description: 'https, or http in networks you named.' })
  @IsString()
  @Length(1, 2_000)
  url: string;

  @ApiPropertyOptional({
    default: 'latest',
    example: 'latest',
    description: 'Begin after this cursor or `sequence`, with the `oldest` event that is kept, or with the next one.',
  })
  @Optional('latest')
  @IsString()
  @Matches(START_PATTERN)
  after: string = 'latest';
}

export class RotateSecretBody {
  @ApiPropertyOptional({
    default: USUAL_OVERLAP_S,
    minimum: 0,
    maximum: LONGEST_OVERLAP_S,
    example: 3_600,
    description: 'How long deliveries are signed with the old secret too.',
  })
  @Optional(USUAL_OVERLAP_S)
  @IsInt()
  @Min(0)
  @Max(LONGEST_OVERLAP_S)
  overlapSeconds: number = USUAL_OVERLAP_S;
}

export class ReplayBody {
  @ApiPropertyOptional({
    example: '1041',
    description: 'Everything after this cursor or `sequence`. Left out: what is parked, each once.',
  })
  @Optional()
  @IsString()
  @Matches(CURSOR_PATTERN)
  after?: string;
}

export class DeliveriesQuery extends PageQuery {
  @ApiPropertyOptional({ enum: STATES }) @IsOptional() @IsIn(STATES) state?: DeliveryState;
}

export class WebhookView {
  @ApiProperty({ example: 'wh_5f0c2e8a9b7d4c31a2b3c4d5' }) id: string;
  @ApiProperty({ type: String, nullable: true }) description: string | null;
  @ApiProperty({ example: 'https://ops.example/rollcall' }) url: string;
  @ApiProperty({ type: [String], nullable: true, example: ['agent.left'] }) types: string[] | null;
  @ApiProperty({ type: [String], nullable: true, example: null }) agentIds: string[] | null;
  @ApiProperty({ type: [String], nullable: true, example: null }) capabilities: string[] | null;
  @ApiProperty({ type: SinkStatusView }) status: SinkStatusView;
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'The one before signs too until then.',
  })
  oldSecretUntil: Date | null;
  @ApiProperty({ format: 'date-time' }) createdAt: Date;
  @ApiProperty({ example: 'key:7hW2mNp4Xz' }) createdBy: string;
}

export class IssuedWebhookView extends OmitType(WebhookView, []) {
  @ApiProperty({ description: 'Signs every delivery. Shown this once.', example: 'whsec_…' }) secret: string;
}

export class WebhookPage {
  @ApiProperty({ type: [WebhookView] }) items: WebhookView[];
  @ApiProperty({ type: String, nullable: true }) nextCursor: string | null;
}

export class DeliveryView {
  @ApiProperty({ example: '1042', description: "The event's place in the log." }) sequence: string;
  @ApiProperty({ example: '0b7f4f5c-6f0e-4f4f-9a55-3f1f2a0c9d11', description: 'Sent as `webhook-id`.' })
  eventId: string;
  @ApiProperty({ example: 'agent.left' }) type: string;
  @ApiProperty({ example: 'builder-1' }) subject: string;
  @ApiProperty({ enum: STATES }) state: DeliveryState;
  @ApiProperty({ example: 1 }) attempts: number;
  @ApiProperty({ type: Number, nullable: true, example: 204, description: 'What the endpoint answered last.' })
  status: number | null;
  @ApiProperty({ type: String, nullable: true, example: null }) error: string | null;
  @ApiProperty({ example: 12 }) tookMs: number;
  @ApiProperty({ format: 'date-time' }) firstAt: Date;
  @ApiProperty({ format: 'date-time' }) lastAt: Date;
}

export class DeliveryPage {
  @ApiProperty({ type: [DeliveryView] }) items: DeliveryView[];
  @ApiProperty({ type: String, nullable: true }) nextCursor: string | null;
}

export function toWebhookView({ row, status }: Webhook): WebhookView {
  const { id, description, url, types, agentIds, capabilities, oldSecretUntil, createdAt, createdBy } = row;
  const shown = { id, description, url, types, agentIds, capabilities };
  return { ...shown, status: toStatusView(status), oldSecretUntil, createdAt, createdBy };
}

export function toIssuedView(issued: IssuedWebhook): IssuedWebhookView {
  return { ...toWebhookView(issued), secret: issued.secret.reveal() };
}

export function toDeliveryView(row: DeliveryRow): DeliveryView {
  const { seq: sequence, eventId, type, subject, state, attempts, status, error, tookMs, firstAt, lastAt } = row;
  return { sequence, eventId, type, subject, state, attempts, status, error, tookMs, firstAt, lastAt };
}

export function toFacts({ url, description, types, agentIds, capabilities }: CreateWebhookBody): WebhookFacts {
  return {
    url,
    description: description ?? null,
    types: types ?? null,
    agentIds: agentIds ?? null,
    capabilities: capabilities ?? null,
  };
}
