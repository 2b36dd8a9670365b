import { Module } from '@nestjs/common';
import { McpController } from './mcp.controller.js';
import { MetadataController, ProtectedResource } from './metadata.controller.js';

/** The routes of MCP. At the first request, they load `McpServerModule`. */
@Module({ controllers: [McpController, MetadataController], providers: [ProtectedResource] })
export class McpModule {}
