import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty, ApiPropertyOptional, ApiTags } from '@nestjs/swagger';
import { IsOptional, IsString, MaxLength } from 'class-validator';
import { Permit } from '../auth/route.access.js';
import { PageQuery, readCursor, toPage } from '../http/page.js';
import type { AuditEntity } from './audit.entity.js';
import { AuditService } from './audit.service.js';

class AuditQuery extends PageQuery {
  @ApiPropertyOptional({ example: 'key.issued' }) @IsOptional() @IsString() @MaxLength(100) action?: string;
  @ApiPropertyOptional({ example: 'key:4fT9sKq2Lm' }) @IsOptional() @IsString() @MaxLength(300) actorId?: string;
  @ApiPropertyOptional({ example: '7hW2mNp4Xz' }) @IsOptional() @IsString() @MaxLength(300) target?: string;
}

class AuditView {
  @ApiProperty({ example: '17' }) seq: string;
  @ApiProperty({ format: 'date-time' }) at: Date;
  @ApiProperty({ example: 'key.issued' }) action: string;
  @ApiProperty({ type: String, nullable: true, example: '7hW2mNp4Xz' }) target: string | null;
  @ApiProperty({ example: 'key:4fT9sKq2Lm' }) actorId: string;
  @ApiProperty({ example: 'admin' }) actorName: string;
  @ApiProperty({ example: '9f86d081884c7d65', description: 'Tells the credentials of one actor apart.' })
  fingerprint: string;
  @ApiProperty({ example: '5c0f3a9e-8a50-4a53-8a54-9c2d8a6a1b7e' }) requestId: string;
  @ApiProperty({ example: '203.0.113.7' }) ip: string;
  @ApiProperty({ example: { name: 'ci-deployer', roles: ['operator'] } }) details: Record<string, unknown>;
}

class AuditPage {
  @ApiProperty({ type: [AuditView] }) items: AuditView[];
  @ApiProperty({ type: String, nullable: true }) nextCursor: string | null;
}

@ApiTags('access')
@Controller('audit')
export class AuditController {
  constructor(private readonly audit: AuditService) {}

  @Get()
  @Permit('audit:read')
  @ApiOperation({ summary: 'Who did what, newest first' })
  @ApiOkResponse({ type: AuditPage })
  async list(@Query() { limit, cursor, ...filter }: AuditQuery): Promise<AuditPage> {
    const rows = await this.audit.list(limit + 1, readCursor(cursor, /^\d{1,18}$/), filter);
    return toPage(rows, limit, toAuditView, (row) => row.seq);
  }
}

function toAuditView(row: AuditEntity): AuditView {
  const { seq, at, action, target, actorId, actorName, fingerprint, requestId, ip, details } = row;
  return { seq, at, action, target, actorId, actorName, fingerprint, requestId, ip, details };
}
