import { Module } from '@nestjs/common';
import { ContractMetrics } from './contract.metrics.js';
import { ContractsController } from './contracts.controller.js';

@Module({ controllers: [ContractsController], providers: [ContractMetrics] })
export class ContractsModule {}
