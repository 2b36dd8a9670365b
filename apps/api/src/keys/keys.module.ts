import { Module } from '@nestjs/common';
import { AdminKeys, KeyChanges, KeysService, KeyStore, SessionsService, SessionStore } from '#rollcall/platform';
import { AuditService } from '../audit/audit.service.js';
import { KeysController } from './keys.controller.js';

@Module({
  providers: [
    KeyStore,
    KeysService,
    SessionStore,
    SessionsService,
    { provide: KeyChanges, useExisting: AuditService },
    AdminKeys,
  ],
  controllers: [KeysController],
  exports: [KeysService, SessionsService],
})
export class KeysModule {}
