import { Global, Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { SseStreams } from './sse.writer.js';
import { StreamConnections } from './stream.connections.js';

/** The connections that stay open: server-sent events of all protocols, and WebSockets. */
@Global()
@Module({
  imports: [AuthModule],
  providers: [SseStreams, StreamConnections],
  exports: [SseStreams, StreamConnections],
})
export class StreamsModule {}
