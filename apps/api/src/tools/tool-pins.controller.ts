import { Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { ToolPinsService } from '#rollcall/agent-runtime';
import { Caller } from '../auth/caller.js';
import { Scope } from '../auth/namespace.scope.js';
import type { Principal } from '../auth/principal.js';
import { Permit } from '../auth/route.access.js';
import { Mutation } from '../mutation/mutation.js';
import { AcceptToolBody, toMcpServerView, ToolPinList, ToolPinView, toToolPinView } from './tool-pins.dto.js';
import { Problems } from '../http/problems/problem.docs.js';

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
