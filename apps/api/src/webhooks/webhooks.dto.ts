import { type ApiParamOptions, ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { IsBoolean, IsIn, IsInt, IsOptional, IsString, Length, Max, MaxLength, Min } from 'class-validator';
import type { DeliveryRow, DeliveryState, IssuedWebhook, Webhook, WebhookFields } from '#rollcall/platform';
import { EventFilterQuery, IsCursor, IsStart } from '../events/events.dto.js';
import { PageQuery, PageView } from '../http/page.js';
import { Optional } from '../http/validation/fields.js';
import { SinkStatusView, toStatusView } from '../sinks/sinks.dto.js';

const DEFAULT_OVERLAP_S = 24 * 3_600;
const MAX_OVERLAP_S = 30 * 24 * 3_600;
const STATES: DeliveryState[] = ['delivered', 'retrying', 'parked', 'pending'];

export const WEBHOOK_ID: ApiParamOptions = {
  name: 'id',
  description: 'The id of the webhook.',
  example: 'wh_5f0c2e8a9b7d4c31a2b3c4d5',
};

class WebhookBody extends EventFilterQuery {
  @ApiPropertyOptional({
    type: String,
    nullable: true,
    example: 'pager of the ops team',
    description: 'What the webhook is for.',
  })
  @IsOptional()
  @IsString()
  @MaxLength(200)
  description?: string | null;

  @ApiPropertyOptional({ example: false, description: 'While this is true, events wait. No event is lost.' })
  @Optional()
  @IsBoolean()
  paused?: boolean;
}

export class ChangeWebhookBody extends WebhookBody {
  @ApiPropertyOptional({
    example: 'https://ops.example/rollcall',
    description: 'An https URL, or an http URL in a network that `ROLLCALL_EGRESS_ALLOW` names.',
  })
  @Optional()
  @IsString()
  @Length(1, 2_000)
  url?: string;
}

export class CreateWebhookBody extends WebhookBody {
  @ApiProperty({
    example: 'https://ops.example/rollcall',
    description: 'An https URL, or an http URL in a network that `ROLLCALL_EGRESS_ALLOW` names.',
  })
  @IsString()
  @Length(1, 2_000)
  url: string;

  @ApiPropertyOptional({
    default: 'latest',
    example: 'latest',
    description:
      'Where to start: after a cursor or `sequence`, at the `oldest` event that is kept, or at the next event (`latest`).',
  })
  @Optional('latest')
  @IsString()
  @IsStart()
  after: string = 'latest';
}

export class RotateSecretBody {
  @ApiPropertyOptional({
    type: 'integer',
    default: DEFAULT_OVERLAP_S,
    minimum: 0,
    maximum: MAX_OVERLAP_S,
    example: 3_600,
    description: 'How long deliveries also have the signature of the old secret.',
  })
  @Optional(DEFAULT_OVERLAP_S)
  @IsInt()
  @Min(0)
  @Max(MAX_OVERLAP_S)
  overlapSeconds: number = DEFAULT_OVERLAP_S;
}

export class ReplayBody {
  @ApiPropertyOptional({
    example: '1',
    description: 'All events after this cursor or `sequence`. Absent: all parked events, each once.',
  })
  @Optional()
  @IsString()
  @IsCursor()
  after?: string;
}

export class DeliveriesQuery extends PageQuery {
  @ApiPropertyOptional({ enum: STATES, description: 'Only deliveries in this state.' })
  @IsOptional()
  @IsIn(STATES)
  state?: DeliveryState;
}

const TIMESTAMP = { type: String, format: 'date-time', example: '2026-02-24T10:30:00.000Z' } as const;
const FILTER = { type: String, isArray: true, nullable: true, example: null } as const;

export class WebhookView {
  @ApiProperty({ example: 'wh_5f0c2e8a9b7d4c31a2b3c4d5', description: 'The id of the webhook.' }) id: string;
  @ApiProperty({
    example: 'default',
    description: 'The webhook receives the events of this namespace; `*` means all events.',
  })
  namespace: string;
  @ApiProperty({
    type: String,
    nullable: true,
    example: 'pager of the ops team',
    description: 'What the webhook is for.',
  })
  description: string | null;
  @ApiProperty({ example: 'https://ops.example/rollcall', description: 'Where events are delivered to.' }) url: string;
  @ApiProperty({ ...FILTER, example: ['agent.left'], description: 'Only events of these types; null means all.' })
  types: string[] | null;
  @ApiProperty({ ...FILTER, description: 'Only events about these agents; null means all.' }) agentIds: string[] | null;
  @ApiProperty({ ...FILTER, description: 'Only events about agents with one of these capabilities; null means all.' })
  capabilities: string[] | null;
  @ApiProperty({ type: SinkStatusView, description: 'The progress of the deliveries.' }) status: SinkStatusView;
  @ApiProperty({
    ...TIMESTAMP,
    nullable: true,
    example: null,
    description:
      'Until this time, deliveries also have the signature of the old secret; null if there is no old secret.',
  })
  oldSecretUntil: Date | null;
  @ApiProperty({ ...TIMESTAMP, description: 'When the webhook was created.' }) createdAt: Date;
  @ApiProperty({ example: 'key:7hW2mNp4Xz', description: 'Who created the webhook.' }) createdBy: string;
}

export class IssuedWebhookView extends OmitType(WebhookView, []) {
  @ApiProperty({
    example: 'whsec_…',
    description: 'The secret that signs every delivery. Only this response contains it.',
  })
  secret: string;
}

export class WebhookPage extends PageView {
  @ApiProperty({ type: [WebhookView], description: 'The webhooks, newest first.' }) items: WebhookView[];
}

export class DeliveryView {
  @ApiProperty({ example: '1042', description: 'The position of the event in the log.' }) sequence: string;
  @ApiProperty({ example: '0b7f4f5c-6f0e-4f4f-9a55-3f1f2a0c9d11', description: 'Sent as `webhook-id`.' })
  eventId: string;
  @ApiProperty({ example: 'agent.left', description: 'The type of the event.' }) type: string;
  @ApiProperty({ example: 'builder-01', description: 'The subject of the event.' }) subject: string;
  @ApiProperty({ enum: STATES, description: '`parked`: all attempts failed.' }) state: DeliveryState;
  @ApiProperty({ type: 'integer', example: 1, description: 'Attempts so far.' }) attempts: number;
  @ApiProperty({
    type: 'integer',
    nullable: true,
    example: 204,
    description: 'The last status of the endpoint, if any.',
  })
  status: number | null;
  @ApiProperty({ type: String, nullable: true, example: null, description: 'Why the last attempt failed.' })
  error: string | null;
  @ApiProperty({ type: 'integer', example: 12, description: 'How long the last attempt took.' }) tookMs: number;
  @ApiProperty({ ...TIMESTAMP, description: 'The first attempt.' }) firstAt: Date;
  @ApiProperty({ ...TIMESTAMP, description: 'The last attempt.' }) lastAt: Date;
}

export class DeliveryPage extends PageView {
  @ApiProperty({ type: [DeliveryView], description: 'The deliveries, newest first.' }) items: DeliveryView[];
}

export function toWebhookView({ row, status }: Webhook): WebhookView {
  const { id, namespace, description, url, types, agentIds, capabilities, oldSecretUntil, createdAt, createdBy } = row;
  const shown = { id, namespace, description, url, types, agentIds, capabilities };
  return { ...shown, status: toStatusView(status), oldSecretUntil, createdAt, createdBy };
}

export function toIssuedView(issued: IssuedWebhook): IssuedWebhookView {
  return { ...toWebhookView(issued), secret: issued.secret.reveal() };
}

export function toDeliveryView(row: DeliveryRow): DeliveryView {
  const { seq: sequence, eventId, type, subject, state, attempts, status, error, tookMs, firstAt, lastAt } = row;
  return { sequence, eventId, type, subject, state, attempts, status, error, tookMs, firstAt, lastAt };
}

export function toFields({ url, description, types, agentIds, capabilities }: CreateWebhookBody): WebhookFields {
  return {
    url,
    description: description ?? null,
    types: types ?? null,
    agentIds: agentIds ?? null,
    capabilities: capabilities ?? null,
  };
}
