import { Module } from '@nestjs/common';
import { RuntimeController } from './runtime.controller.js';

@Module({ controllers: [RuntimeController] })
export class RuntimeModule {}
