import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  ArrayMinSize,
  ArrayUnique,
  IsISO8601,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Length,
  Matches,
  Max,
  MaxLength,
  Min,
} from 'class-validator';
import { ROLES, type Role } from '../auth/permissions.js';
import { Optional } from '../http/optional.js';
import { validationFailed } from '../http/validation.error.js';
import type { KeyEntity } from './key.entity.js';
import type { IssuedKey } from './keys.service.js';

const LONGEST_OVERLAP_S = 7 * 24 * 3_600;
const USUAL_OVERLAP_S = 60;
/** With six decimals of a second and a zone it has 32 characters. */
const LONGEST_DATE = 40;
const DATE_TIME = /^[^T]{4,15}T[^T]{2,20}(?:Z|[+-]\d\d:\d\d)$/;
const LONGEST_LIFE_MS = 10 * 365 * 24 * 3_600_000;

export class IssueKeyBody {
  @ApiProperty({ description: 'What the key is for.', example: 'ci-deployer', minLength: 1, maxLength: 100 })
  @Matches(/\S/, { message: 'name must not be blank' })
  @IsString()
  @Length(1, 100)
  name: string;

  @ApiProperty({ enum: ROLES, isArray: true, example: ['operator'] })
  @ArrayUnique()
  @IsIn(ROLES, { each: true })
  @ArrayMinSize(1)
  @ArrayMaxSize(ROLES.length)
  roles: Role[];

  @ApiPropertyOptional({ description: 'Never, if left out.', format: 'date-time', example: '2027-06-30T00:00:00Z' })
  @IsOptional()
  @IsISO8601({ strict: true })
  @Matches(DATE_TIME, { message: 'expiresAt must have a time and a zone, such as 2027-06-30T00:00:00Z' })
  @MaxLength(LONGEST_DATE)
  expiresAt?: string;
}

export class RotateKeyBody {
  @ApiPropertyOptional({
    description: 'How long the old secret goes on working.',
    default: USUAL_OVERLAP_S,
    minimum: 0,
    maximum: LONGEST_OVERLAP_S,
    example: 3600,
  })
  @Optional(USUAL_OVERLAP_S)
  @IsInt()
  @Min(0)
  @Max(LONGEST_OVERLAP_S)
  overlapSeconds: number = USUAL_OVERLAP_S;
}

export class KeyView {
  @ApiProperty({ example: '4fT9sKq2Lm' }) id: string;
  @ApiProperty({ example: 'ci-deployer' }) name: string;
  @ApiProperty({ enum: ROLES, isArray: true, example: ['operator'] }) roles: Role[];
  @ApiProperty({ enum: ['issued', 'first-start', 'environment'] }) source: string;
  @ApiProperty({ enum: ['active', 'expired', 'revoked'] }) status: string;
  @ApiProperty({ format: 'date-time' }) createdAt: Date;
  @ApiProperty({ example: 'key:7hW2mNp4Xz' }) createdBy: string;
  @ApiProperty({ type: String, format: 'date-time', nullable: true }) expiresAt: Date | null;
  @ApiProperty({ type: String, format: 'date-time', nullable: true }) revokedAt: Date | null;
  @ApiProperty({ type: String, nullable: true, description: 'The key that rotation put in its place.' }) replacedBy:
    string | null;
  @ApiProperty({ type: String, format: 'date-time', nullable: true, description: 'To the minute.' })
  lastUsedAt: Date | null;
}

export class IssuedKeyView extends OmitType(KeyView, []) {
  @ApiProperty({ description: 'The secret. Shown this once.', example: 'rk_4fT9sKq2Lm_…' }) key: string;
}

export class KeyPage {
  @ApiProperty({ type: [KeyView] }) items: KeyView[];
  @ApiProperty({ type: String, nullable: true }) nextCursor: string | null;
}

export function toKeyView(row: KeyEntity): KeyView {
  const { id, name, roles, source, createdAt, createdBy, expiresAt, revokedAt, replacedBy, lastUsedAt } = row;
  const expired = expiresAt !== null && expiresAt.getTime() <= Date.now();
  const status = revokedAt ? 'revoked' : expired ? 'expired' : 'active';
  return { id, name, roles, source, status, createdAt, createdBy, expiresAt, revokedAt, replacedBy, lastUsedAt };
}

export function toIssuedKeyView({ row, key }: IssuedKey): IssuedKeyView {
  return { ...toKeyView(row), key };
}

/** Null when it never ends. */
export function readExpiry({ expiresAt }: IssueKeyBody): Date | null {
  if (expiresAt === undefined) return null;
  const moment = new Date(expiresAt);
  const fromNow = moment.getTime() - Date.now();
  if (fromNow > 0 && fromNow <= LONGEST_LIFE_MS) return moment;
  const message = 'expiresAt must lie in the future, ten years away at the most; leave it out for a key without end';
  throw validationFailed([{ field: 'expiresAt', message }]);
}
