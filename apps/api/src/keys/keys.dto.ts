import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  ArrayMinSize,
  ArrayUnique,
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
import { type IssuedKey, type KeyRow, NamespaceNotFoundError, type WantedKey } from '#rollcall/platform';
import { keyPrincipalId } from '../auth/credentials/identity.js';
import { isRole, type Role, ROLES } from '../auth/permissions.js';
import type { Principal } from '../auth/principal.js';
import { PageView } from '../http/page.js';
import { IsDateTime, Optional } from '../http/validation/fields.js';
import { validationFailed } from '../http/validation/validation.errors.js';

const MAX_OVERLAP_S = 7 * 24 * 3_600;
const DEFAULT_OVERLAP_S = 60;
const MIN_OWN_OVERLAP_S = 30;
const MAX_LIFETIME_MS = 10 * 365 * 24 * 3_600_000;

export class IssueKeyBody {
  @ApiProperty({ description: 'What the key is for.', example: 'ci-deployer', minLength: 1, maxLength: 100 })
  @Matches(/\S/, { message: 'name must not be blank' })
  @IsString()
  @Length(1, 100)
  name: string;

  @ApiProperty({ enum: ROLES, isArray: true, example: ['operator'], description: 'The roles of the key.' })
  @ArrayUnique()
  @IsIn(ROLES, { each: true })
  @ArrayMinSize(1)
  @ArrayMaxSize(ROLES.length)
  roles: Role[];

  @ApiPropertyOptional({
    description:
      'The namespace that the key gives access to, or `*` for all. Absent: the namespace of the request. Any other namespace requires a credential for all namespaces.',
    example: 'default',
    maxLength: 63,
  })
  @IsOptional()
  @Matches(/^(?:\*|[a-z0-9][a-z0-9-]{0,62})$/, { message: 'namespace must be the name of a namespace, or * for all' })
  @IsString()
  @MaxLength(63)
  namespace?: string;

  @ApiPropertyOptional({
    description: 'When the key expires. Absent: it does not expire.',
    format: 'date-time',
    example: '2027-06-30T00:00:00Z',
  })
  @IsOptional()
  @IsDateTime()
  expiresAt?: string;
}

export class RotateKeyBody {
  @ApiPropertyOptional({
    type: 'integer',
    description: 'How long the old secret stays valid.',
    default: DEFAULT_OVERLAP_S,
    minimum: 0,
    maximum: MAX_OVERLAP_S,
    example: 3600,
  })
  @Optional(DEFAULT_OVERLAP_S)
  @IsInt()
  @Min(0)
  @Max(MAX_OVERLAP_S)
  overlapSeconds: number = DEFAULT_OVERLAP_S;
}

const TIMESTAMP = { type: String, format: 'date-time', nullable: true, example: null } as const;
const SOURCES = ['issued', 'first-start', 'environment'];
const STATUSES = ['active', 'expired', 'revoked'];

export class KeyView {
  @ApiProperty({ example: '4fT9sKq2Lm', description: 'The id of the key; a part of its secret.' }) id: string;
  @ApiProperty({ example: 'ci-deployer', description: 'What the key is for.' }) name: string;
  @ApiProperty({ example: 'default', description: 'The namespace that the key gives access to; `*` for all.' })
  namespace: string;
  @ApiProperty({ enum: ROLES, isArray: true, example: ['operator'], description: 'The roles of the key.' })
  roles: Role[];
  @ApiProperty({ enum: SOURCES, description: 'Where the key comes from.' }) source: string;
  @ApiProperty({ enum: STATUSES, description: 'Only active keys are accepted.' }) status: string;
  @ApiProperty({
    type: String,
    format: 'date-time',
    example: '2026-02-24T10:00:00.000Z',
    description: 'When the key was issued.',
  })
  createdAt: Date;
  @ApiProperty({ example: 'key:7hW2mNp4Xz', description: 'Who issued the key.' }) createdBy: string;
  @ApiProperty({ ...TIMESTAMP, description: 'When the key expires; null if it does not expire.' })
  expiresAt: Date | null;
  @ApiProperty({ ...TIMESTAMP, description: 'When the key was revoked; null if it was not revoked.' })
  revokedAt: Date | null;
  @ApiProperty({
    type: String,
    nullable: true,
    example: null,
    description: 'The key that replaced this key, if it was rotated.',
  })
  replacedBy: string | null;
  @ApiProperty({ ...TIMESTAMP, description: 'The last use, with a precision of one minute.' }) lastUsedAt: Date | null;
}

export class IssuedKeyView extends OmitType(KeyView, []) {
  @ApiProperty({ example: 'rk_4fT9sKq2Lm_…', description: 'The secret. Only this response contains it.' }) key: string;
}

export class KeyPage extends PageView {
  @ApiProperty({ type: [KeyView], description: 'The keys, newest first.' }) items: KeyView[];
}

export function toKeyView(row: KeyRow): KeyView {
  const { id, name, namespace, roles, source, createdAt, createdBy, expiresAt, revokedAt, replacedBy, lastUsedAt } =
    row;
  const status = revokedAt ? 'revoked' : row.isActive ? 'active' : 'expired';
  const known = roles.filter(isRole);
  const times = { createdAt, createdBy, expiresAt, revokedAt, replacedBy, lastUsedAt };
  return { id, name, namespace, roles: known, source, status, ...times };
}

export function toIssuedKeyView({ row, key }: IssuedKey): IssuedKeyView {
  return { ...toKeyView(row), key };
}

/** Requires an overlap if a caller rotates its own key: if the response is lost, the caller repeats the request with the old secret. */
export function checkOwnOverlap(id: string, { overlapSeconds }: RotateKeyBody, caller: Principal): void {
  if (caller.id !== keyPrincipalId(id) || overlapSeconds >= MIN_OWN_OVERLAP_S) return;
  const message = `overlapSeconds must be at least ${MIN_OWN_OVERLAP_S} for the key that sends this request: otherwise you cannot repeat the request if the response is lost`;
  throw validationFailed([{ field: 'overlapSeconds', message }]);
}

/** A credential for one namespace issues keys for that namespace only. */
export function toWantedKey(body: IssueKeyBody, caller: Principal): WantedKey {
  const { name, roles } = body;
  const namespace = body.namespace ?? caller.namespace;
  if (namespace !== caller.namespace && !caller.hasAllNamespaces) throw new NamespaceNotFoundError(namespace);
  return { name, roles, namespace, expiresAt: readExpiry(body) };
}

/** Returns null when the key does not expire. */
function readExpiry({ expiresAt }: IssueKeyBody): Date | null {
  if (expiresAt === undefined) return null;
  const moment = new Date(expiresAt);
  const fromNow = moment.getTime() - Date.now();
  if (fromNow > 0 && fromNow <= MAX_LIFETIME_MS) return moment;
  const message =
    'expiresAt must be in the future, at most ten years from now; leave it out for a key that does not expire';
  throw validationFailed([{ field: 'expiresAt', message }]);
}
