import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, ArrayUnique, IsIn, IsOptional, IsString, MaxLength } from 'class-validator';
import type { NewSession } from '#rollcall/platform';
import { keyIdOf } from '../auth/credentials/identity.js';
import { permissionsOf, type Role, ROLES } from '../auth/permissions.js';
import type { Principal } from '../auth/principal.js';
import { ApiError } from '../http/problems/api.error.js';
import { validationFailed } from '../http/validation/validation.errors.js';

export class OpenSessionBody {
  @ApiPropertyOptional({
    enum: ROLES,
    isArray: true,
    example: ['viewer'],
    description: 'The roles of the session, which must not permit more than the API key. Absent: the roles of the key.',
  })
  @IsOptional()
  @ArrayUnique()
  @IsIn(ROLES, { each: true })
  @ArrayMinSize(1)
  @ArrayMaxSize(ROLES.length)
  roles?: Role[];
}

export class ExchangeTicketBody {
  @ApiProperty({ example: 'Xq3vT0c8', description: 'The ticket.', maxLength: 100 })
  @IsString()
  @MaxLength(100)
  ticket: string;
}

const EXPIRY = { type: String, format: 'date-time', example: '2026-02-24T18:30:00.000Z' } as const;

export class SessionView {
  @ApiProperty({ example: '9f3c27d10b7f4f5c', description: 'Names the session in the audit log.' }) id: string;
  @ApiProperty({
    example: 'rs_3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    description: 'The credential of the session. Only this response contains it.',
  })
  token: string;
  @ApiProperty({ enum: ROLES, isArray: true, example: ['viewer'], description: 'The roles of the session.' })
  roles: readonly string[];
  @ApiProperty({ ...EXPIRY, description: 'When the session ends, unless its API key ends earlier.' }) expiresAt: Date;
}

export class SessionTicketView {
  @ApiProperty({ example: 'Xq3vT0c8', description: 'The ticket. The console accepts it at `/console/#ticket=…`.' })
  ticket: string;
  @ApiProperty({ ...EXPIRY, description: 'When the ticket expires.' }) expiresAt: Date;
}

export function toSessionView({ hash, token, roles, expiresAt }: NewSession): SessionView {
  return { id: hash.slice(0, 16), token, roles, expiresAt };
}

/** The key and the roles of a new session. Only an API key opens sessions: a session must not outlive the credential that opened it. */
export function toSessionGrant(
  { roles }: OpenSessionBody,
  caller: Principal,
): { keyId: string; roles: readonly Role[] } {
  if (caller.kind !== 'key' || caller.sessionHash !== undefined)
    throw new ApiError('FORBIDDEN', 'Only an API key opens sessions. Send an API key, or use this credential itself.');
  const beyond = roles?.find((role) => permissionsOf([role]).some((one) => !caller.permissions.includes(one)));
  if (beyond === undefined) return { keyId: keyIdOf(caller.id), roles: roles ?? caller.roles };
  const message = `roles must not permit more than the API key: ${beyond} does, because the key has ${caller.roles.join(', ')}`;
  throw validationFailed([{ field: 'roles', message }]);
}
