import { Controller, Get, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';

const OK = { ok: true };

@Controller('noop')
class NoopController {
  @Get()
  get(): typeof OK {
    return OK;
  }

  @Post()
  post(): typeof OK {
    return OK;
  }
}

@Module({ controllers: [NoopController] })
class BareModule {}

/** The ceiling: what NestJS on Fastify does when it does nothing at all. */
const app = await NestFactory.create<NestFastifyApplication>(BareModule, new FastifyAdapter(), { logger: false });
await app.listen(0, '127.0.0.1');
console.log(JSON.stringify({ event: 'process.started', url: await app.getUrl() }));
process.on('SIGTERM', () => void app.close().then(() => process.exit(0)));
