import { Module } from '@nestjs/common';
import { AdminKeys } from './admin.keys.js';
import { KeyStore } from './key.store.js';
import { KeysController } from './keys.controller.js';
import { KeysService } from './keys.service.js';

@Module({ providers: [KeyStore, KeysService, AdminKeys], controllers: [KeysController], exports: [KeysService] })
export class KeysModule {}
