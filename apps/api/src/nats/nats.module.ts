import { Module } from '@nestjs/common';
import { NatsRelay } from './nats.relay.js';

@Module({ providers: [NatsRelay], exports: [NatsRelay] })
export class NatsModule {}
