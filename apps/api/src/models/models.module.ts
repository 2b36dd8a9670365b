import { Module } from '@nestjs/common';
import { ProvidersController } from '../providers/providers.controller.js';
import { ModelsController } from './models.controller.js';

@Module({ controllers: [ModelsController, ProvidersController] })
export class ModelsModule {}
