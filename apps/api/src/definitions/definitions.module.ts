import { Module } from '@nestjs/common';
import { DefinitionsController } from './definitions.controller.js';
import { RevisionsController } from './revisions.controller.js';

@Module({ controllers: [DefinitionsController, RevisionsController] })
export class DefinitionsModule {}
