import { Global, Module } from '@nestjs/common';
import { OpenRunMetrics } from './open-run.metrics.js';
import { RunHistoryController } from './run-history.controller.js';
import { RunCommands } from './run.commands.js';
import { RunMetrics } from './run.metrics.js';
import { RunRepliesController } from './run-replies.controller.js';
import { RunStreamController } from './run-stream.controller.js';
import { RunStreams } from './run.streams.js';
import { RunSubscriptions } from './run.subscriptions.js';
import { RunWaits } from './run.waits.js';
import { RunsController } from './runs.controller.js';

@Global()
@Module({
  controllers: [RunsController, RunStreamController, RunHistoryController, RunRepliesController],
  providers: [RunCommands, RunWaits, RunStreams, RunSubscriptions, RunMetrics, OpenRunMetrics],
  exports: [RunCommands, RunSubscriptions],
})
export class RunsModule {}
