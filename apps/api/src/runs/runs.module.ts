import { Global, Module } from '@nestjs/common';
import { RunHistoryController } from './run-history.controller.js';
import { RunRepliesController } from './run-replies.controller.js';
import { RunStreamController } from './run-stream.controller.js';
import { RunCommands } from './run.commands.js';
import { OpenRunMetrics, RunMetrics } from './run.metrics.js';
import { RunStreams } from './run.stream.js';
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
