import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { PresetBook, resolveModel, VendorRegistry } from '#rollcall/providers';
import { Permit } from '../auth/route.access.js';
import { ModelList, ResolvedModelView, ResolveQuery } from './models.dto.js';

@ApiTags('models')
@Controller('models')
@Permit('models:read')
export class ModelsController {
  constructor(
    private readonly book: PresetBook,
    private readonly vendors: VendorRegistry,
  ) {}

  @Get()
  @ApiOperation({ summary: 'The models that can be named, and the vendors we speak to' })
  @ApiOkResponse({ type: ModelList })
  list(): ModelList {
    return { items: this.book.list(), vendors: this.vendors.list().map(({ name }) => name) };
  }

  @Get('resolve')
  @ApiOperation({ summary: 'Which model does a name mean, and why?' })
  @ApiOkResponse({ type: ResolvedModelView })
  resolve(@Query() { model }: ResolveQuery): ResolvedModelView {
    return resolveModel(model ?? null, this.book);
  }
}
