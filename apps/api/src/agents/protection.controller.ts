import { Body, Controller, Get, Put } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { ProtectionStore } from '#rollcall/registry';
import { Scope } from '../auth/namespace.scope.js';
import { Permit } from '../auth/route.access.js';
import { Mutation } from '../mutation/mutation.js';
import { OverrideBody } from './agents.dto.js';
import { OverrideView, ProtectionView, toProtectionView } from './protection.view.js';

@ApiTags('agents')
@Controller('registry/protection')
@Scope('installation')
export class ProtectionController {
  constructor(private readonly protection: ProtectionStore) {}

  @Get()
  @Permit('agents:read')
  @ApiOperation({ operationId: 'protection.get', summary: 'Get the state of self-preservation' })
  @ApiOkResponse({ type: ProtectionView, description: 'The state, and the reason for it.' })
  async read(): Promise<ProtectionView> {
    return toProtectionView(await this.protection.read());
  }

  @Put()
  @Permit('agents:operate')
  @Mutation({ audit: 'protection.overridden', record: ['override'] })
  @ApiOperation({
    operationId: 'protection.override',
    summary: 'Override self-preservation',
    description: 'Keep self-preservation on, evict silent agents, or return to the automatic decision.',
  })
  @ApiOkResponse({ type: OverrideView, description: 'The override in effect.' })
  async override(@Body() { override }: OverrideBody): Promise<OverrideView> {
    await this.protection.override(override);
    return { override };
  }
}
