import { Global, Module } from '@nestjs/common';
import { RunHistoryController } from './run-history.controller.js';
import { RunCommands } from './run.commands.js';
import { RunRepliesController } from './run-replies.controller.js';
import { RunStreamController } from './run-stream.controller.js';
import { RunSubscriptions } from './run.subscriptions.js';
import { RunWaits } from './run.waits.js';
import { RunsController } from './runs.controller.js';
import { RunStreams } from './run.stream.js';
import { OpenRunMetrics, RunMetrics } from './run.metrics.js';

@Global()
@Module({
  controllers: [RunsController, RunStreamController, RunHistoryController, RunRepliesController],
  providers: [RunCommands, RunWaits, RunStreams, RunSubscriptions, RunMetrics, OpenRunMetrics],
  exports: [RunCommands, RunSubscriptions],
})
export class RunsModule {}
