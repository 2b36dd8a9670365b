import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { PresetCatalog, resolveModel, VendorRegistry } from '#rollcall/providers';
import { Caller, type Principal } from '../auth/principal.js';
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
  @ApiOkResponse({ type: ModelList, description: 'The presets that the namespace can use, and all vendors.' })
  list(@Caller() { namespace }: Principal): ModelList {
    return { items: this.presets.in(namespace).list(), vendors: this.vendors.list().map(({ name }) => name) };
  }

  @Get('resolve')
  @ApiOperation({ operationId: 'models.resolve', summary: 'Resolve a model name' })
  @ApiOkResponse({ type: ResolvedModelView, description: 'The model, and the rule that chose it.' })
  resolve(@Query() { model }: ResolveQuery, @Caller() { namespace }: Principal): ResolvedModelView {
    return resolveModel(model ?? null, this.presets.in(namespace));
  }
}
