import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { type ListedTool, ToolCatalog } from '#rollcall/agent-runtime';
import { Caller } from '../auth/caller.js';
import type { Principal } from '../auth/principal.js';
import { Permit } from '../auth/route.access.js';
import { type ToolItem, ToolList } from './tools.dto.js';

@ApiTags('runtime')
@Controller('tools')
@Permit('tools:read')
export class ToolsController {
  constructor(private readonly tools: ToolCatalog) {}

  @Get()
  @ApiOperation({
    operationId: 'tools.list',
    summary: 'List the tools of agents',
    description: 'Lists the tools that agents of this deployment can use, and those that the configuration turns off.',
  })
  @ApiOkResponse({ type: ToolList, description: 'All tools.' })
  list(@Caller() { namespace }: Principal): ToolList {
    return { items: this.tools.list(namespace).map(toItem) };
  }
}

function toItem({ tool, toolbox, enabled }: ListedTool): ToolItem {
  const { name, description, inputSchema, idempotent, needsApproval } = tool;
  return { name, description, inputSchema, toolbox, idempotent, needsApproval, enabled };
}
