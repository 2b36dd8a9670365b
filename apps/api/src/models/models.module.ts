import { Module } from '@nestjs/common';
import { PresetBook, VendorRegistry } from '#rollcall/providers';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { ModelsController } from './models.controller.js';
import { knownVendors } from './vendors.js';

@Module({
  controllers: [ModelsController],
  providers: [
    { provide: PresetBook, inject: [CONFIG], useFactory: ({ models }: Config) => new PresetBook(models) },
    { provide: VendorRegistry, useFactory: knownVendors },
  ],
  exports: [PresetBook, VendorRegistry],
})
export class ModelsModule {}
