import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import {
  AgentProviderRegistry,
  agentProviderView,
  Keyring,
  PresetCatalog,
  vendorView,
  VendorRegistry,
} from '#rollcall/providers';
import { Permit } from '../auth/route.access.js';
import { ProviderList, ProvidersQuery } from './providers.dto.js';

@ApiTags('models')
@Controller('providers')
@Permit('models:read')
export class ProvidersController {
  constructor(
    private readonly agents: AgentProviderRegistry,
    private readonly vendors: VendorRegistry,
    private readonly presets: PresetCatalog,
    private readonly keys: Keyring,
  ) {}

  @Get()
  @ApiOperation({
    operationId: 'providers.list',
    summary: 'List agent providers and model vendors',
    description: 'Each item lists what it needs, and whether it can be used on this replica.',
  })
  @ApiOkResponse({ type: ProviderList, description: 'All providers of this deployment.' })
  list(@Query() { kind }: ProvidersQuery): ProviderList {
    const all = [
      ...this.agents.list().map(agentProviderView),
      ...this.vendors.list().map((vendor) => vendorView(vendor, this.presets, this.keys.forModels)),
    ];
    return { items: all.filter((one) => kind === undefined || one.kind === kind) };
  }
}
