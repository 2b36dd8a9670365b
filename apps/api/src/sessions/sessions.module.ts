import { Module } from '@nestjs/common';
import { KeysModule } from '../keys/keys.module.js';
import { SessionsController } from './sessions.controller.js';

@Module({ imports: [KeysModule], controllers: [SessionsController] })
export class SessionsModule {}
