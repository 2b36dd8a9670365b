import { Body, Controller, Get, HttpCode, Module, Post } from '@nestjs/common';
import { servePeer } from './peer.server.js';

/** As large as the response of `GET /v1/me`, so that both sides serialise the same amount of JSON. */
const OK = {
  id: 'key:4fT9sKq2Lm',
  kind: 'key',
  name: 'admin',
  roles: ['admin'],
  permissions: ['audit:read', 'keys:manage', 'metrics:read', 'self:read'],
  expiresAt: null,
};

/** As large as the response to a heartbeat. */
const BEATEN = { beatAt: '2026-02-24T10:30:00.000Z', nextIntervalMs: 9_412 };

@Controller('noop')
class NoopController {
  @Get()
  get(): typeof OK {
    return OK;
  }

  @Post()
  @HttpCode(200)
  post(@Body() _body: unknown): typeof BEATEN {
    return BEATEN;
  }
}

@Module({ controllers: [NoopController] })
class BareModule {}

/** The upper bound: the rate of NestJS on Fastify for a route that does nothing. */
await servePeer(BareModule);
