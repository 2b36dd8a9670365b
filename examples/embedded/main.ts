import { Controller, Get, Inject, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { EmbeddedRollcall, RollcallModule } from 'rollcall/embed';
import { definePlugin, defineTool, ToolCatalog } from 'rollcall/plugin';

const orders = definePlugin({
  name: 'orders',
  tools: [defineTool({ name: 'count_orders', description: 'Counts the orders.', execute: () => 3 })],
  definitions: [{ name: 'clerk', description: 'Knows the orders.', tools: ['count_orders'] }],
});

/** A route of this application, which uses a service of Rollcall. */
@Controller('shop')
class ShopController {
  constructor(@Inject(EmbeddedRollcall) private readonly rollcall: EmbeddedRollcall) {}

  @Get('tools')
  tools(): string[] {
    return this.rollcall
      .get(ToolCatalog)
      .list('default')
      .map(({ tool }) => tool.name);
  }
}

@Module({
  imports: [RollcallModule.forRoot({ prefix: '/rollcall', settings: process.env, plugins: [orders] })],
  controllers: [ShopController],
})
class ShopModule {}

const app = await NestFactory.create(ShopModule, new FastifyAdapter());
app.enableShutdownHooks();
await app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1');
process.stdout.write(`The shop listens on ${await app.getUrl()}\n`);
