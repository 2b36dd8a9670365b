import { Module } from '@nestjs/common';
import { IdempotencyService } from './idempotency.service.js';
import { IdempotencyStore } from './idempotency.store.js';
import { IdempotencySweeper } from './idempotency.sweeper.js';

@Module({ providers: [IdempotencyStore, IdempotencyService, IdempotencySweeper], exports: [IdempotencyService] })
export class IdempotencyModule {}
