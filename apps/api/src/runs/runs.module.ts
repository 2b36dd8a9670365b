import { Global, Module } from '@nestjs/common';
import { OpenRunMetrics } from './open-run.metrics.js';
import { RunHistoryController } from './run-history.controller.js';
import { RunMetrics } from './run.metrics.js';
import { RunRepliesController } from './run-replies.controller.js';
import { RunStreamController } from './run-stream.controller.js';
import { RunStreams } from './run.streams.js';
import { RunSubscriptions } from './run.subscriptions.js';
import { RunsController } from './runs.controller.js';

@Global()
@Module({
  controllers: [RunsController, RunStreamController, RunHistoryController, RunRepliesController],
  providers: [RunStreams, RunSubscriptions, RunMetrics, OpenRunMetrics],
  exports: [RunSubscriptions],
})
export class RunsModule {}
