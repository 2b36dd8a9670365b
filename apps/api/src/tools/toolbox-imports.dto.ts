import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsObject, IsString, MaxLength } from 'class-validator';
import { IsEndpoint } from '../agents/registration/declaration.rules.js';
import { Optional } from '../http/validation/fields.js';

export class ToolboxImportBody {
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

export class ToolboxSecretView {
  @ApiProperty({ example: 'MCP_WEATHER_KEY', description: 'The environment variable.' }) env: string;
  @ApiProperty({ example: 'The API key.', description: 'What the server says about the key. It is untrusted.' })
  description: string;
}

export class ToolboxImportView {
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

export const TOOLBOX_IMPORT_EXAMPLES = {
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
