import { Body, Controller, HttpCode, Post, Req } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { RegistrationBatches } from '../../agents/registration/registration.batches.js';
import { Permit } from '../../auth/route.access.js';
import { Problems } from '../../http/problems/problem.docs.js';
import { Limits } from '../../http/server/routes.js';
import { validationFailed } from '../../http/validation/validation.errors.js';
import { Effect } from '../../mutation/effect.js';
import { Mutation } from '../../mutation/mutation.js';
import {
  AGENT_IMPORT_EXAMPLES,
  AgentImportBody,
  AgentImportView,
  type ImportedEntryView,
} from './agent-imports.dto.js';
import { type CatalogAgent, CatalogAgents } from './catalog.agents.js';
import { Caller, type Principal } from '../../auth/principal.js';

const RECORDED = { registered: 'registered', rejected: 'rejected', skipped: 'skipped' };

@ApiTags('agents')
@Controller('agent-imports')
export class AgentImportsController {
  constructor(
    private readonly catalog: CatalogAgents,
    private readonly batches: RegistrationBatches,
  ) {}

  @Post()
  @HttpCode(200)
  @Permit('agents:register')
  @Limits({ body: 'batch' })
  @Mutation({ audit: 'agents.imported', prepares: true, record: ['catalogUrl', 'labels'], recordResult: RECORDED })
  @ApiOperation({
    operationId: 'agents.import',
    summary: 'Register the agents of a catalog',
    description:
      'Registers the A2A cards in a document of ARD or AI Catalog: at most 1,000 entries, including those of nested catalogs. The ' +
      'identifier of an entry is the agentId. An invalid entry does not affect the others. Like all agents, imported agents need heartbeats.',
  })
  @ApiBody({ type: AgentImportBody, examples: AGENT_IMPORT_EXAMPLES })
  @ApiOkResponse({ type: AgentImportView, description: 'The result of each entry.' })
  @Problems('EGRESS_DENIED')
  async import(
    @Body() body: AgentImportBody,
    @Caller() caller: Principal,
    @Req() { id: requestId }: FastifyRequest,
  ): Promise<Effect<AgentImportView>> {
    checkSource(body);
    const agents = await this.catalog.read(body);
    return new Effect(async () => await this.register(agents, caller, requestId));
  }

  private async register(agents: readonly CatalogAgent[], caller: Principal, id: string): Promise<AgentImportView> {
    const items = agents.flatMap(({ item }) => item ?? []);
    const results = (await this.batches.register(items, caller, id)).values();
    const entries = agents.map(({ identifier, item }): ImportedEntryView => {
      if (!item) return { identifier, outcome: 'skipped' };
      const { registration, problem } = results.next().value ?? {};
      return registration
        ? { identifier, outcome: 'registered', registration }
        : { identifier, outcome: 'rejected', problem };
    });
    const count = (outcome: ImportedEntryView['outcome']): number =>
      entries.filter((entry) => entry.outcome === outcome).length;
    return { registered: count('registered'), rejected: count('rejected'), skipped: count('skipped'), entries };
  }
}

function checkSource({ catalogUrl, catalog }: AgentImportBody): void {
  if ((catalogUrl === undefined) !== (catalog === undefined)) return;
  throw validationFailed([{ field: 'catalogUrl', message: 'Send either catalogUrl or catalog' }]);
}
