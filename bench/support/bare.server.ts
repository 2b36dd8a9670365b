import { Body, Controller, Get, HttpCode, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';

/** As large as what `GET /v1/me` answers, so that the comparison is about the edge and not about JSON. */
const OK = {
  id: 'key:4fT9sKq2Lm',
  kind: 'key',
  name: 'admin',
  roles: ['admin'],
  permissions: ['audit:read', 'keys:manage', 'metrics:read', 'self:read'],
  expiresAt: null,
};

/** As large as what a heartbeat is answered. */
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

/** The ceiling: what NestJS on Fastify does when it does nothing at all. */
const app = await NestFactory.create<NestFastifyApplication>(BareModule, new FastifyAdapter(), { logger: false });
await app.listen(0, '127.0.0.1');
console.log(JSON.stringify({ event: 'process.started', url: await app.getUrl() }));
process.on('SIGTERM', () => void app.close().then(() => process.exit(0)));
