import { Module } from '@nestjs/common';
import { AdminKeys, KeyChanges, KeysService, KeyStore } from '#rollcall/platform';
import { AuditService } from '../audit/audit.service.js';
import { KeysController } from './keys.controller.js';

@Module({
  providers: [KeyStore, KeysService, { provide: KeyChanges, useExisting: AuditService }, AdminKeys],
  controllers: [KeysController],
  exports: [KeysService],
})
export class KeysModule {}
