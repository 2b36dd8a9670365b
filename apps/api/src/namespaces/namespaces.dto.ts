import { ApiProperty, ApiPropertyOptional, PartialType } from '@nestjs/swagger';
import { IsInt, IsOptional, IsString, Matches, Max, MaxLength, Min } from 'class-validator';
import {
  type DescribedNamespace,
  NAMESPACE_PATTERN,
  type NamespaceLimits,
  type NamespaceRow,
  NO_LIMITS,
} from '#rollcall/platform';
import { Nested } from '../http/validation/fields.js';
import { PageView } from '../http/page.js';

const MAX_LIMIT = 1_000_000_000;

class LimitsView implements NamespaceLimits {
  @ApiProperty({
    type: 'integer',
    minimum: 0,
    maximum: MAX_LIMIT,
    example: 1_000,
    description: 'Live agents. 0: no limit.',
  })
  @IsInt()
  @Min(0)
  @Max(MAX_LIMIT)
  agents: number;

  @ApiProperty({
    type: 'integer',
    minimum: 0,
    maximum: MAX_LIMIT,
    example: 50,
    description: 'Active API keys. 0: no limit.',
  })
  @IsInt()
  @Min(0)
  @Max(MAX_LIMIT)
  keys: number;

  @ApiProperty({ type: 'integer', minimum: 0, maximum: MAX_LIMIT, example: 20, description: 'Webhooks. 0: no limit.' })
  @IsInt()
  @Min(0)
  @Max(MAX_LIMIT)
  webhooks: number;

  @ApiProperty({
    type: 'integer',
    minimum: 0,
    maximum: MAX_LIMIT,
    example: 500,
    description: 'Requests per second on each replica. 0: no limit.',
  })
  @IsInt()
  @Min(0)
  @Max(MAX_LIMIT)
  requestsPerSecond: number;

  @ApiProperty({
    type: 'integer',
    minimum: 0,
    maximum: MAX_LIMIT,
    example: 100_000,
    description: 'Events in the log; if there are more, the oldest events expire within a minute. 0: no limit.',
  })
  @IsInt()
  @Min(0)
  @Max(MAX_LIMIT)
  eventsKept: number;
}

export class LimitsBody extends PartialType(LimitsView) {}

export class UpdateNamespaceBody {
  @ApiPropertyOptional({
    type: String,
    nullable: true,
    maxLength: 500,
    example: 'Search team',
    description: 'What the namespace is for.',
  })
  @IsOptional()
  @IsString()
  @MaxLength(500)
  description?: string | null;

  @ApiPropertyOptional({ type: LimitsBody, description: 'The limits to change. Absent limits are not changed.' })
  @IsOptional()
  @Nested(() => LimitsBody)
  limits?: LimitsBody;
}

export class CreateNamespaceBody extends UpdateNamespaceBody {
  @ApiProperty({
    pattern: NAMESPACE_PATTERN.source,
    maxLength: 63,
    example: 'team-a',
    description: 'Lower-case letters, digits and hyphens. The name of a deleted namespace cannot be used again.',
  })
  @Matches(NAMESPACE_PATTERN, {
    message: 'name must have 1 to 63 characters: lower-case letters, digits and hyphens, not starting with a hyphen',
  })
  @IsString()
  @MaxLength(63)
  name: string;
}

export class NamespaceSummary {
  @ApiProperty({ example: 'team-a', description: 'The name.' }) name: string;
  @ApiProperty({ type: String, nullable: true, example: 'Search team', description: 'What the namespace is for.' })
  description: string | null;
  @ApiProperty({ type: LimitsView, description: 'The limits; 0 means no limit.' }) limits: LimitsView;
  @ApiProperty({
    type: String,
    format: 'date-time',
    example: '2026-02-24T10:00:00.000Z',
    description: 'When the namespace was created.',
  })
  createdAt: Date;
  @ApiProperty({ example: 'key:7hW2mNp4Xz', description: 'Who created the namespace.' }) createdBy: string;
}

export class NamespaceView extends NamespaceSummary {
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'integer' },
    example: { agents: 42, definitions: 5, runs: 2, keys: 3, webhooks: 1, reservations: 2, eventsKept: 1_204 },
    description: 'How many objects the namespace contains at present.',
  })
  use: Readonly<Record<string, number>>;
}

export class NamespacePage extends PageView {
  @ApiProperty({ type: [NamespaceSummary], description: 'The namespaces, sorted by name.' }) items: NamespaceSummary[];
}

export function toNamespaceSummary({
  name,
  description,
  limits,
  createdAt,
  createdBy,
}: NamespaceRow): NamespaceSummary {
  return { name, description, limits: { ...NO_LIMITS, ...limits }, createdAt, createdBy };
}

export function toNamespaceView({ row, use }: DescribedNamespace): NamespaceView {
  return { ...toNamespaceSummary(row), use };
}

/** Null is accepted like an absent limit. */
export function givenLimits({ limits }: UpdateNamespaceBody): Partial<NamespaceLimits> {
  return Object.fromEntries(Object.entries(limits ?? {}).filter(([, limit]) => typeof limit === 'number'));
}
