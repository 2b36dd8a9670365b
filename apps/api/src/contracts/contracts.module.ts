import { Module } from '@nestjs/common';
import { ContractAnnouncer } from './contract.announcer.js';
import { ContractMetrics } from './contract.metrics.js';
import { ContractsController } from './contracts.controller.js';

@Module({
  controllers: [ContractsController],
  providers: [ContractAnnouncer, ContractMetrics],
  exports: [ContractAnnouncer],
})
export class ContractsModule {}
