import { Controller, Get, Req } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { callerOf } from './caller.js';
import { PERMISSIONS, ROLES } from './permissions.js';
import { Permit } from './route.access.js';

class MeView {
  @ApiProperty({ example: 'key:4fT9sKq2Lm' }) id: string;
  @ApiProperty({ enum: ['key', 'oidc'] }) kind: string;
  @ApiProperty({ example: 'admin' }) name: string;
  @ApiProperty({ enum: ROLES, isArray: true, example: ['admin'] }) roles: readonly string[];
  @ApiProperty({ enum: PERMISSIONS, isArray: true, example: PERMISSIONS }) permissions: readonly string[];
  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: null }) expiresAt: Date | null;
}

@ApiTags('access')
@Controller('me')
export class MeController {
  @Get()
  @Permit('self:read')
  @ApiOperation({ summary: 'Who am I, and what may I do?' })
  @ApiOkResponse({ type: MeView })
  me(@Req() request: FastifyRequest): MeView {
    const { id, kind, name, roles, permissions, expiresAt } = callerOf(request);
    return { id, kind, name, roles, permissions, expiresAt };
  }
}
