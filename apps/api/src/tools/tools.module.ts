import { Module } from '@nestjs/common';
import { ToolPinsController } from './tool-pins.controller.js';
import { ToolsController } from './tools.controller.js';

@Module({ controllers: [ToolsController, ToolPinsController] })
export class ToolsModule {}
