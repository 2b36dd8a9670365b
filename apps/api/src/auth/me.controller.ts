import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty, ApiTags } from '@nestjs/swagger';
import { Caller } from './caller.js';
import { PERMISSIONS, ROLES } from './permissions.js';
import type { Principal } from './principal.js';
import { Permit } from './route.access.js';

class MeView {
  @ApiProperty({ example: 'key:4fT9sKq2Lm' }) id: string;
  @ApiProperty({ enum: ['key', 'oidc'] }) kind: string;
  @ApiProperty({ example: 'admin' }) name: string;
  @ApiProperty({ enum: ROLES, isArray: true, example: ['admin'] }) roles: readonly string[];
  @ApiProperty({ enum: PERMISSIONS, isArray: true, example: PERMISSIONS }) permissions: string[];
  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: null }) expiresAt: Date | null;
}

@ApiTags('access')
@Controller('me')
export class MeController {
  @Get()
  @Permit('self:read')
  @ApiOperation({ summary: 'Who am I, and what may I do?' })
  @ApiOkResponse({ type: MeView })
  me(@Caller() { id, kind, name, roles, permissions, expiresAt }: Principal): MeView {
    return { id, kind, name, roles, permissions: [...permissions].toSorted(), expiresAt };
  }
}
