import { Module } from '@nestjs/common';
import { A2aModule } from '../a2a/a2a.module.js';
import { AgentsModule } from '../agents/agents.module.js';
import { ArdController } from './ard/ard.controller.js';
import { ArdRegistry } from './ard/ard.registry.js';
import { DocumentsController } from './documents.controller.js';
import { AgentImportsController } from './imports/agent-imports.controller.js';
import { CatalogAgents } from './imports/catalog.agents.js';
import { CatalogReader } from './imports/catalog.reader.js';
import { PublicCatalog } from './public.catalog.js';
import { ServersController } from './servers.controller.js';

/** Open catalogs of the public agents: ARD, AI Catalog and the MCP registry API; and the import of other catalogs. */
@Module({
  imports: [A2aModule, AgentsModule],
  controllers: [DocumentsController, ArdController, ServersController, AgentImportsController],
  providers: [PublicCatalog, ArdRegistry, CatalogAgents, CatalogReader],
})
export class CatalogModule {}
