import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { UsageStore } from '#rollcall/agent-runtime';
import { Caller, type Principal } from '../auth/principal.js';
import { Limits } from '../http/server/routes.js';
import { Permit } from '../auth/route.access.js';
import { LongReads } from '../limits/long.reads.js';
import { readUsageQuery, toUsageView, UsageQueryDto, UsageView } from './usage.dto.js';

@ApiTags('budgets')
@Controller('usage')
export class UsageController {
  constructor(
    private readonly usage: UsageStore,
    private readonly reads: LongReads,
  ) {}

  @Get()
  @Permit('budgets:read')
  @Limits({ kind: 'streams' })
  @ApiOperation({
    operationId: 'usage.get',
    summary: 'Read usage over time by agent, definition, caller or model',
    description:
      'What the ledger charged in each interval, in tokens and micro-dollars. Usage by model comes from the replies of models in the ' +
      'steps of runs, so it contains no external agents. Lines of the ledger that are older than their retention are combined and have no ' +
      'time of their own; they are not included.',
  })
  @ApiOkResponse({ type: UsageView, description: 'The usage of the namespace.' })
  async get(@Query() query: UsageQueryDto, @Caller() { namespace }: Principal): Promise<UsageView> {
    const wanted = readUsageQuery(query, namespace);
    return toUsageView(wanted, await this.reads.run(namespace, async () => await this.usage.read(wanted)));
  }
}
