import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { EndpointCheck, readServerJson } from '#rollcall/providers';
import { RemoteDocuments } from '../agents/registration/remote.documents.js';
import { Scope } from '../auth/namespace.scope.js';
import { Permit } from '../auth/route.access.js';
import { validationFailed } from '../http/validation/validation.errors.js';
import { Repeatable } from '../mutation/repeatable.js';
import { TOOLBOX_IMPORT_EXAMPLES, ToolboxImportBody, ToolboxImportView } from './toolbox-imports.dto.js';
import { Problems } from '../http/problems/problem.docs.js';

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
