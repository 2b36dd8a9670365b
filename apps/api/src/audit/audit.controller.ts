import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty, ApiPropertyOptional, ApiTags } from '@nestjs/swagger';
import { IsOptional, IsString, MaxLength } from 'class-validator';
import { PagedList, PageQuery, PageView } from '../http/page.js';
import { Problems } from '../http/problems/problem.docs.js';
import type { AuditEntity } from './audit.entity.js';
import { AuditService } from './audit.service.js';
import { Caller, type Principal, visibleTo } from '../auth/principal.js';
import { Permit, Scope } from '../auth/route.access.js';

class AuditQuery extends PageQuery {
  @ApiPropertyOptional({ example: 'key.issued', description: 'Only this action.' })
  @IsOptional()
  @IsString()
  @MaxLength(100)
  action?: string;
  @ApiPropertyOptional({ description: 'Only actions of this principal, such as `key:4fT9sKq2Lm`.' })
  @IsOptional()
  @IsString()
  @MaxLength(300)
  actorId?: string;
  @ApiPropertyOptional({ description: 'Only actions on the object with this id or name, such as an agent or a key.' })
  @IsOptional()
  @IsString()
  @MaxLength(300)
  target?: string;
}

class AuditView {
  @ApiProperty({ example: '17', description: 'The position in the audit log.' }) seq: string;
  @ApiProperty({
    type: String,
    format: 'date-time',
    example: '2026-02-24T10:30:00.000Z',
    description: 'When the action was done.',
  })
  at: Date;
  @ApiProperty({ example: 'default', description: 'The namespace that the action concerns; `*` for all.' })
  namespace: string;
  @ApiProperty({ example: 'key.issued', description: 'What was done.' }) action: string;
  @ApiProperty({
    type: String,
    nullable: true,
    example: '7hW2mNp4Xz',
    description: 'The object of the action, if there is one.',
  })
  target: string | null;
  @ApiProperty({ example: 'key:4fT9sKq2Lm', description: 'The principal that did the action.' }) actorId: string;
  @ApiProperty({ example: 'admin', description: 'The name of the principal at that time.' }) actorName: string;
  @ApiProperty({ example: '9f86d081884c7d65', description: 'Distinguishes the credentials of one principal.' })
  fingerprint: string;
  @ApiProperty({ example: '5c0f3a9e-8a50-4a53-8a54-9c2d8a6a1b7e', description: 'The id of the request.' })
  requestId: string;
  @ApiProperty({ example: '203.0.113.7', description: 'The address of the client.' }) ip: string;
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { name: 'ci-deployer', roles: ['operator'] },
    description: 'Fields of the request and of the response.',
  })
  details: Record<string, unknown>;
}

class AuditPage extends PageView {
  @ApiProperty({ type: [AuditView], description: 'Newest first.' }) items: AuditView[];
}

const ACTIONS = new PagedList('audit');

@ApiTags('access')
@Controller('audit')
export class AuditController {
  constructor(private readonly audit: AuditService) {}

  @Get()
  @Permit('audit:read')
  @Scope('any')
  @ApiOperation({ operationId: 'audit.list', summary: 'List audited actions, newest first' })
  @ApiOkResponse({ type: AuditPage, description: 'A page of actions.' })
  @Problems('CURSOR_INVALID')
  async list(@Query() { limit, cursor, ...given }: AuditQuery, @Caller() caller: Principal): Promise<AuditPage> {
    const filter = { ...given, visible: visibleTo(caller) };
    const rows = await this.audit.list(limit + 1, ACTIONS.readCursor(cursor), filter);
    return ACTIONS.toPage(rows, limit, toAuditView, (row) => row.seq);
  }
}

function toAuditView(row: AuditEntity): AuditView {
  const { seq, at, namespace, action, target, actorId, actorName, fingerprint, requestId, ip, details } = row;
  return { seq, at, namespace, action, target, actorId, actorName, fingerprint, requestId, ip, details };
}
