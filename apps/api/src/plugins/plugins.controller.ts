import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty, ApiTags } from '@nestjs/swagger';
import { Permit } from '../auth/route.access.js';
import { PLUGIN_PARTS } from './plugin.js';
import type { PluginFault } from './plugin.guard.js';
import type { LoadedPlugin } from './plugin.reader.js';
import { Plugins } from './plugins.js';

class PluginFaultView {
  @ApiProperty({ example: 'guardrail', description: 'The part that failed.' }) part: string;
  @ApiProperty({
    enum: ['error', 'timeout'],
    example: 'timeout',
    description: '`timeout`: it did not answer in time. `error`: it threw an error, or returned an invalid value.',
  })
  kind: PluginFault;
  @ApiProperty({ type: 'integer', example: 2, description: 'How often.' }) count: number;
}

class PluginView {
  @ApiProperty({ example: 'weather', description: 'The name of the plugin.' }) name: string;
  @ApiProperty({ type: String, nullable: true, example: '1.0.0', description: 'Its version; null if it states none.' })
  version: string | null;
  @ApiProperty({ example: './weather.js', description: 'Where it was loaded from.' }) from: string;
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'array', items: { type: 'string' } },
    example: { tools: ['forecast'], strategies: ['newest'] },
    description: 'The names of its parts, by kind. Parts without a name are shown by their place, such as `#1`.',
  })
  parts: Record<string, string[]>;
  @ApiProperty({
    type: [PluginFaultView],
    description: 'Failures of its code on this replica since the start of the process.',
  })
  faults: PluginFaultView[];
}

class PluginList {
  @ApiProperty({ type: [PluginView], description: 'The plugins of this replica, in the order of the setting.' })
  items: PluginView[];
}

@ApiTags('operation')
@Controller('plugins')
export class PluginsController {
  constructor(private readonly plugins: Plugins) {}

  @Get()
  @Permit('tools:read')
  @ApiOperation({
    operationId: 'plugins.list',
    summary: 'List the plugins',
    description: 'Lists the plugins that the replica which answers has loaded, and what each of them adds.',
  })
  @ApiOkResponse({ type: PluginList, description: 'All plugins.' })
  list(): PluginList {
    return { items: this.plugins.all.map(toPluginView) };
  }
}

function toPluginView({ name, version, from, parts, guard }: LoadedPlugin): PluginView {
  const named = PLUGIN_PARTS.map((part) => [part, parts[part].map(nameOf)] as const);
  return {
    name,
    version,
    from,
    parts: Object.fromEntries(named.filter(([, names]) => names.length > 0)),
    faults: [...guard.faults],
  };
}

function nameOf(part: unknown, index: number): string {
  if (typeof part === 'string') return part;
  if (part instanceof URL) return part.pathname;
  const { name, module } = part as { name?: unknown; module?: { name?: unknown } };
  const text = name ?? module?.name;
  return typeof text === 'string' && text !== '' ? text : `#${index + 1}`;
}
