import { Module } from '@nestjs/common';
import { NamespacesController } from './namespaces.controller.js';

@Module({ controllers: [NamespacesController] })
export class NamespacesModule {}
