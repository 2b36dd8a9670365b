import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiProperty, ApiPropertyOptional, ApiTags } from '@nestjs/swagger';
import { IsObject, IsString, MaxLength } from 'class-validator';
import { EndpointCheck, readServerJson } from '#rollcall/providers';
import { IsEndpoint } from '../agents/registration/declaration.rules.js';
import { RemoteDocuments } from '../agents/registration/remote.documents.js';
import { Problems } from '../http/problems/problem.docs.js';
import { Optional } from '../http/validation/fields.js';
import { validationFailed } from '../http/validation/validation.errors.js';
import { Repeatable } from '../mutation/mutation.js';
import { Permit, Scope } from '../auth/route.access.js';

class ToolboxImportBody {
  @ApiPropertyOptional({
    example: 'https://registry.example.com/v0.1/servers/com.example%2Fweather/versions/latest',
    description: 'The URL of a `server.json`, or of a server in the MCP registry API. Send either this or `server`.',
  })
  @Optional()
  @IsEndpoint()
  serverUrl?: string;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    example: { name: 'com.example/weather' },
    description: 'The `server.json` itself.',
  })
  @Optional()
  @IsObject()
  server?: Record<string, unknown>;

  @ApiPropertyOptional({
    example: 'weather',
    description: 'The name of the toolbox. Absent: made from the name of the server.',
  })
  @Optional()
  @IsString()
  @MaxLength(32)
  name?: string;
}

class ToolboxSecretView {
  @ApiProperty({ example: 'MCP_WEATHER_KEY', description: 'The environment variable.' }) env: string;
  @ApiProperty({ example: 'The API key.', description: 'What the server says about the key. It is untrusted.' })
  description: string;
}

class ToolboxImportView {
  @ApiProperty({ example: 'weather', description: 'The name of the server in the settings.' }) name: string;
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { url: 'https://mcp.example.com/mcp', requireAcceptance: true },
    description: 'The value for `runtime.mcpServers.{name}`.',
  })
  config: object;
  @ApiProperty({
    example: '{"weather":{"url":"https://mcp.example.com/mcp","requireAcceptance":true}}',
    description: 'The value for the environment variable `ROLLCALL_MCP_SERVERS`.',
  })
  setting: string;
  @ApiProperty({ type: [ToolboxSecretView], description: 'The keys that you must set where Rollcall runs.' })
  secrets: ToolboxSecretView[];
}

const TOOLBOX_IMPORT_EXAMPLES = {
  document: {
    summary: 'A server with a key',
    value: {
      server: {
        name: 'com.example/weather',
        description: 'Weather forecasts.',
        version: '1.0.0',
        remotes: [
          {
            type: 'streamable-http',
            url: 'https://mcp.example.com/mcp',
            headers: [{ name: 'Authorization', description: 'The API key.', isRequired: true, isSecret: true }],
          },
        ],
      },
    },
  },
};

@ApiTags('runtime')
@Controller('toolbox-imports')
@Scope('installation')
export class ToolboxImportsController {
  constructor(
    private readonly documents: RemoteDocuments,
    private readonly endpoints: EndpointCheck,
  ) {}

  @Post()
  @HttpCode(200)
  @Permit('tools:manage')
  @Repeatable()
  @ApiOperation({
    operationId: 'tools.importServer',
    summary: 'Convert a server.json to the settings of an MCP server',
    description:
      'Reads a `server.json` of the MCP registry, and returns the settings for `runtime.mcpServers`. The request changes nothing: MCP servers ' +
      'are part of the configuration, because their tools act for all namespaces. Requires a credential for all namespaces.',
  })
  @ApiBody({ type: ToolboxImportBody, examples: TOOLBOX_IMPORT_EXAMPLES })
  @ApiOkResponse({ type: ToolboxImportView, description: 'The settings.' })
  @Problems('EGRESS_DENIED')
  async import(@Body() body: ToolboxImportBody): Promise<ToolboxImportView> {
    const proposal = readServerJson(await this.documentOf(body), body.name);
    if (!('config' in proposal)) {
      throw validationFailed(proposal.map(({ field, message }) => toFault(`server.${field}`, message)));
    }
    const { name, config, secrets } = proposal;
    const checked = { ...config, url: await this.endpoints.check(config.url) };
    return { name, config: checked, setting: JSON.stringify({ [name]: checked }), secrets: [...secrets] };
  }

  private async documentOf({ serverUrl, server }: ToolboxImportBody): Promise<Record<string, unknown>> {
    if (server && serverUrl === undefined) return server;
    if (serverUrl === undefined || server)
      throw validationFailed([toFault('serverUrl', 'send either serverUrl or server')]);
    return await this.documents.read({ url: serverUrl, field: 'serverUrl', what: 'server.json' });
  }
}

function toFault(field: string, message: string): { field: string; message: string } {
  return { field, message: `${field}: ${message}` };
}
