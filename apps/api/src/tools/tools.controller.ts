import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty, ApiPropertyOptional, ApiTags } from '@nestjs/swagger';
import { type ListedTool, ToolCatalog } from '#rollcall/agent-runtime';
import { Permit } from '../auth/route.access.js';
import { Caller, type Principal } from '../auth/principal.js';

class ToolItem {
  @ApiProperty({ example: 'clock', description: 'The name that models and filters use.' }) name: string;
  @ApiProperty({ example: 'Returns the current date and time.', description: 'The description that models receive.' })
  description: string;
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { type: 'object', properties: { timeZone: { type: 'string' } } },
    description: 'The JSON Schema of its input.',
  })
  inputSchema: Record<string, unknown>;
  @ApiProperty({ example: 'clock', description: 'The toolbox of the tool.' }) toolbox: string;
  @ApiProperty({ example: true, description: 'Whether a call may be repeated after a crash.' }) idempotent: boolean;
  @ApiProperty({ example: false, description: 'Whether each call must be approved.' }) needsApproval: boolean;
  @ApiPropertyOptional({
    enum: ['operator', 'caller'],
    example: 'operator',
    description:
      'Who may approve a call: an operator (`runs:manage`), or also the caller of the run. Absent: no approval is needed.',
  })
  approve?: 'operator' | 'caller';
  @ApiProperty({ example: true, description: 'Whether the configuration lets agents use it.' }) enabled: boolean;
}

class ToolList {
  @ApiProperty({
    type: [ToolItem],
    description:
      'The tools, in the order in which agents search them. If two tools have the same name, the first enabled one is used.',
  })
  items: ToolItem[];
}

@ApiTags('runtime')
@Controller('tools')
@Permit('tools:read')
export class ToolsController {
  constructor(private readonly tools: ToolCatalog) {}

  @Get()
  @ApiOperation({
    operationId: 'tools.list',
    summary: 'List the tools of agents',
    description: 'Lists all tools of this deployment, including the tools that the configuration turns off.',
  })
  @ApiOkResponse({ type: ToolList, description: 'All tools.' })
  list(@Caller() { namespace }: Principal): ToolList {
    return { items: this.tools.list(namespace).map(toItem) };
  }
}

function toItem({ tool, toolbox, enabled }: ListedTool): ToolItem {
  const { name, description, inputSchema, idempotent, needsApproval, approve = 'operator' } = tool;
  return {
    name,
    description,
    inputSchema,
    toolbox,
    idempotent,
    needsApproval,
    ...(needsApproval && { approve }),
    enabled,
  };
}
