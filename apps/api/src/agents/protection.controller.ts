import { Body, Controller, Get, Put } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { ProtectionStore } from '#rollcall/registry';
import { Permit } from '../auth/route.access.js';
import { Mutation } from '../mutation/mutation.js';
import { OverrideBody } from './agents.dto.js';
import { type ProtectionView, PROTECTION_EXAMPLE, toProtectionView } from './protection.view.js';

@ApiTags('agents')
@Controller('registry/protection')
export class ProtectionController {
  constructor(private readonly protection: ProtectionStore) {}

  @Get()
  @Permit('agents:read')
  @ApiOperation({ summary: 'What self-preservation is doing, and why' })
  @ApiOkResponse({ schema: { example: PROTECTION_EXAMPLE } })
  async read(): Promise<ProtectionView> {
    return toProtectionView(await this.protection.read());
  }

  @Put()
  @Permit('agents:operate')
  @Mutation({ audit: 'protection.overridden', record: ['override'] })
  @ApiOperation({ summary: 'Hold protection on, have the silent evicted, or let the numbers decide' })
  @ApiOkResponse({ schema: { example: { override: 'protect' } } })
  async override(@Body() { override }: OverrideBody): Promise<OverrideBody> {
    await this.protection.override(override);
    return { override };
  }
}
