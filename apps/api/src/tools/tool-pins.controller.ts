import { Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam, ApiProperty, ApiTags } from '@nestjs/swagger';
import { Matches } from 'class-validator';
import { type McpToolBox, type ToolPin, ToolPinsService } from '#rollcall/agent-runtime';
import { Problems } from '../http/problems/problem.docs.js';
import { Mutation } from '../mutation/mutation.js';
import { Caller, type Principal } from '../auth/principal.js';
import { Permit, Scope } from '../auth/route.access.js';

const STATES = ['accepted', 'waiting', 'changed'] as const;
const HASH = '9f2b6d0c1f4a7e3d5b8c0a1e2f3d4c5b6a7f8e9d0c1b2a3f4e5d6c7b8a9f0e1d';

class ToolPinView {
  @ApiProperty({ example: 'github', description: 'The MCP server.' }) server: string;
  @ApiProperty({ example: 'create_issue', description: 'The name of the tool at the server.' }) tool: string;
  @ApiProperty({
    enum: STATES,
    example: 'changed',
    description:
      '`accepted`: agents may use it. `waiting`: it is new and was never accepted. `changed`: it differs from the accepted definition, so agents cannot use it.',
  })
  state: (typeof STATES)[number];
  @ApiProperty({ example: HASH, description: 'The hash of the definition that was seen last.' }) hash: string;
  @ApiProperty({ example: 'Creates an issue.', description: 'What the server wrote about the tool. It is untrusted.' })
  description: string;
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { type: 'object', properties: { title: { type: 'string' } } },
    description: 'The JSON Schema of its input. It is untrusted.',
  })
  inputSchema: Record<string, unknown>;
  @ApiProperty({ type: String, nullable: true, example: null, description: 'The hash of the accepted definition.' })
  acceptedHash: string | null;
  @ApiProperty({
    type: String,
    nullable: true,
    example: null,
    description: 'Who accepted it; null if it was trusted when it was first seen.',
  })
  acceptedBy: string | null;
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    example: null,
    description: 'When it was accepted.',
  })
  acceptedAt: string | null;
  @ApiProperty({ format: 'date-time', example: '2026-11-17T10:00:00.000Z', description: 'When it was first seen.' })
  firstSeenAt: string;
  @ApiProperty({
    format: 'date-time',
    example: '2026-11-17T10:00:00.000Z',
    description: 'When its definition last changed.',
  })
  changedAt: string;
}

class DisabledToolView {
  @ApiProperty({ example: 'create_issue', description: 'The name of the tool at the server.' }) tool: string;
  @ApiProperty({
    example: 'Its input schema cannot be used: it refers to another document.',
    description: 'The reason.',
  })
  reason: string;
}

class McpServerView {
  @ApiProperty({ example: 'github', description: 'Its name in the configuration.' }) server: string;
  @ApiProperty({
    enum: ['starting', 'ready', 'failed'],
    example: 'ready',
    description: 'Whether this replica could read its tools at the last attempt.',
  })
  state: 'starting' | 'ready' | 'failed';
  @ApiProperty({ type: String, nullable: true, example: null, description: 'Why the last attempt failed.' })
  error: string | null;
  @ApiProperty({ type: 'integer', example: 12, description: 'The number of tools that agents may use.' }) tools: number;
  @ApiProperty({ type: [DisabledToolView], description: 'Tools that agents cannot use.' }) disabled: DisabledToolView[];
}

class ToolPinList {
  @ApiProperty({ type: [ToolPinView], description: 'All tools that were ever seen, by server and name.' })
  items: ToolPinView[];
  @ApiProperty({ type: [McpServerView], description: 'The configured MCP servers, as this replica sees them.' })
  servers: McpServerView[];
}

class AcceptToolBody {
  @ApiProperty({ example: HASH, description: 'The hash of the definition that you have read.' })
  @Matches(/^[0-9a-f]{64}$/)
  hash: string;
}

@ApiTags('runtime')
@Controller('tools/pins')
@Scope('installation')
export class ToolPinsController {
  constructor(private readonly pins: ToolPinsService) {}

  @Get()
  @Permit('tools:read')
  @ApiOperation({
    operationId: 'tools.listPins',
    summary: 'List the definitions of tools of MCP servers',
    description: 'Requires a credential for all namespaces. The texts that the servers provide are untrusted.',
  })
  @ApiOkResponse({ type: ToolPinList, description: 'All definitions, and the state of the servers.' })
  async list(): Promise<ToolPinList> {
    const pins = await this.pins.list();
    return { items: pins.map(toToolPinView), servers: this.pins.servers.map(toMcpServerView) };
  }

  @Post(':server/:tool/accept')
  @HttpCode(200)
  @Permit('tools:manage')
  @Mutation({ audit: 'tool.accepted', record: ['hash'] })
  @ApiOperation({
    operationId: 'tools.acceptPin',
    summary: 'Accept the definition of a tool',
    description:
      'Lets agents use the tool with exactly this definition. Requires a credential for all namespaces. Other replicas offer the tool within 30 seconds.',
  })
  @ApiParam({ name: 'server', example: 'github', description: 'The MCP server.' })
  @ApiParam({ name: 'tool', example: 'create_issue', description: 'The name of the tool at the server.' })
  @ApiOkResponse({ type: ToolPinView, description: 'The accepted definition.' })
  @Problems('TOOL_PIN_NOT_FOUND', 'TOOL_PIN_CHANGED')
  async accept(
    @Param('server') server: string,
    @Param('tool') tool: string,
    @Body() { hash }: AcceptToolBody,
    @Caller() { id: by }: Principal,
  ): Promise<ToolPinView> {
    return toToolPinView(await this.pins.accept(server, tool, { hash, by }));
  }
}

function toToolPinView(pin: ToolPin): ToolPinView {
  const { server, tool, hash, definition, acceptedHash, acceptedBy, acceptedAt, firstSeenAt, changedAt } = pin;
  return {
    server,
    tool,
    state: acceptedHash === hash ? 'accepted' : acceptedHash === null ? 'waiting' : 'changed',
    hash,
    description: definition.description,
    inputSchema: definition.inputSchema,
    acceptedHash,
    acceptedBy,
    acceptedAt: acceptedAt?.toISOString() ?? null,
    firstSeenAt: firstSeenAt.toISOString(),
    changedAt: changedAt.toISOString(),
  };
}

function toMcpServerView(box: McpToolBox): McpServerView {
  const { server, error, refreshed, disabled } = box;
  const state = error ? 'failed' : refreshed ? 'ready' : 'starting';
  return { server, state, error: error?.message ?? null, tools: box.size, disabled: [...disabled] };
}
