import { Controller, Get, Inject, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { EmbeddedRollcall, RollcallModule } from 'rollcall/embed';
import { ToolCatalog } from 'rollcall/plugin';
import { orders } from './orders.js';

@Controller('shop')
class ShopController {
  @Inject(EmbeddedRollcall) private readonly rollcall!: EmbeddedRollcall;
  @Get('tools')
  tools(): string[] {
    const tools = this.rollcall.get(ToolCatalog).list('default');
    return tools.map(({ tool }) => tool.name);
  }
}

const imports = [RollcallModule.forRoot({ settings: process.env, plugins: [orders] })];
@Module({ imports, controllers: [ShopController] })
class ShopModule {}

const app = await NestFactory.create(ShopModule, new FastifyAdapter());
app.enableShutdownHooks();
await app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1');
process.stdout.write(`The shop listens on ${await app.getUrl()}\n`);
