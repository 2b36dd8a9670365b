import { Module } from '@nestjs/common';
import { KeyStore } from './key.store.js';
import { KeysController } from './keys.controller.js';
import { KeysService } from './keys.service.js';

@Module({ providers: [KeyStore, KeysService], controllers: [KeysController], exports: [KeysService] })
export class KeysModule {}
