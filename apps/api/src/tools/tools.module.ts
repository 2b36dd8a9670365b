import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/agents.module.js';
import { ToolPinsController } from './tool-pins.controller.js';
import { ToolboxImportsController } from './toolbox-imports.controller.js';
import { ToolsController } from './tools.controller.js';

@Module({ imports: [AgentsModule], controllers: [ToolsController, ToolPinsController, ToolboxImportsController] })
export class ToolsModule {}
