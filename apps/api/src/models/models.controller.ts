import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { PresetCatalog, resolveModel, VendorRegistry } from '#rollcall/providers';
import { Permit } from '../auth/route.access.js';
import { ModelList, ResolvedModelView, ResolveQuery } from './models.dto.js';

@ApiTags('models')
@Controller('models')
@Permit('models:read')
export class ModelsController {
  constructor(
    private readonly presets: PresetCatalog,
    private readonly vendors: VendorRegistry,
  ) {}

  @Get()
  @ApiOperation({ operationId: 'models.list', summary: 'List model presets and model vendors' })
  @ApiOkResponse({ type: ModelList, description: 'All presets and vendors of this deployment.' })
  list(): ModelList {
    return { items: this.presets.list(), vendors: this.vendors.list().map(({ name }) => name) };
  }

  @Get('resolve')
  @ApiOperation({ operationId: 'models.resolve', summary: 'Resolve a model name' })
  @ApiOkResponse({ type: ResolvedModelView, description: 'The model, and the rule that chose it.' })
  resolve(@Query() { model }: ResolveQuery): ResolvedModelView {
    return resolveModel(model ?? null, this.presets);
  }
}
