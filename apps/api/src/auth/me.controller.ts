import { Controller, Get, Req } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { PERMISSIONS, ROLES } from './permissions.js';
import { callerOf } from './principal.js';
import { Permit, Scope } from './route.access.js';

class MeView {
  @ApiProperty({ example: 'key:4fT9sKq2Lm', description: 'The principal, as in the audit log.' }) id: string;
  @ApiProperty({
    example: 'key:4fT9sKq2Lm',
    description: 'The owner of what the principal creates. It stays the same when an API key is rotated.',
  })
  owner: string;
  @ApiProperty({ enum: ['key', 'oidc'], description: 'The kind of credential.' }) kind: string;
  @ApiProperty({ example: 'admin', description: 'The name of the credential.' }) name: string;
  @ApiProperty({ example: 'default', description: 'The namespace of this request; `*` for all.' }) namespace: string;
  @ApiProperty({
    type: [String],
    example: ['*'],
    description:
      'The namespaces that the credential gives access to; `*` for all. Choose one with `Rollcall-Namespace`.',
  })
  namespaces: readonly string[];
  @ApiProperty({
    enum: ROLES,
    isArray: true,
    example: ['admin'],
    description: 'The roles of the credential in this namespace.',
  })
  roles: readonly string[];
  @ApiProperty({
    enum: PERMISSIONS,
    isArray: true,
    example: PERMISSIONS,
    description: 'The permissions of these roles.',
  })
  permissions: readonly string[];
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    example: null,
    description: 'When the credential expires; null if it does not expire.',
  })
  expiresAt: Date | null;
}

@ApiTags('access')
@Controller('me')
export class MeController {
  @Get()
  @Permit('self:read')
  @Scope('any')
  @ApiOperation({ operationId: 'me.get', summary: 'Get the credential in use and its permissions' })
  @ApiOkResponse({ type: MeView, description: 'The principal of this request.' })
  me(@Req() request: FastifyRequest): MeView {
    const { id, owner, kind, name, namespace, namespaces, roles, permissions, expiresAt } = callerOf(request);
    return { id, owner, kind, name, namespace, namespaces, roles, permissions, expiresAt };
  }
}
