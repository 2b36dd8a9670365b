import { Module } from '@nestjs/common';
import { DefinitionImportsController } from './definition-imports.controller.js';
import { DefinitionsController } from './definitions.controller.js';
import { RevisionsController } from './revisions.controller.js';

@Module({ controllers: [DefinitionsController, RevisionsController, DefinitionImportsController] })
export class DefinitionsModule {}
