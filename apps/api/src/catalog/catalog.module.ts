import { Module } from '@nestjs/common';
import { A2aModule } from '../a2a/a2a.module.js';
import { AgentsModule } from '../agents/agents.module.js';
import { AgentImportsController } from './agent-imports.controller.js';
import { ArdController } from './ard.controller.js';
import { ArdRegistry } from './ard.registry.js';
import { CatalogAgents } from './catalog.agents.js';
import { DocumentsController } from './documents.controller.js';
import { ForeignCatalogs } from './foreign.catalogs.js';
import { PublicAgents } from './public.agents.js';
import { PublicCatalog } from './public.catalog.js';
import { ServersController } from './servers.controller.js';

/** Open catalogs of the public agents: ARD, AI Catalog and the MCP registry API; and the import of other catalogs. */
@Module({
  imports: [A2aModule, AgentsModule],
  controllers: [DocumentsController, ArdController, ServersController, AgentImportsController],
  providers: [PublicAgents, PublicCatalog, ArdRegistry, CatalogAgents, ForeignCatalogs],
})
export class CatalogModule {}
