import { Module } from '@nestjs/common';
import { ModelsController } from './models.controller.js';
import { ProvidersController } from './providers.controller.js';

@Module({ controllers: [ModelsController, ProvidersController] })
export class ModelsModule {}
