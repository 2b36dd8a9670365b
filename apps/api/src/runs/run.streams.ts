import { Inject, Injectable } from '@nestjs/common';
import { isFinal, RunFeed, type RunKey, RunReader } from '#rollcall/agent-runtime';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { validationFailed } from '../http/validation/validation.errors.js';
import { type RunSink, RunStream } from './run.stream.js';

/** Opens streams of runs for SSE and WebSocket connections. */
@Injectable()
export class RunStreams {
  constructor(
    private readonly feed: RunFeed,
    private readonly reader: RunReader,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Returns a function that opens the stream. Rejects if the run does not exist, or has no step `afterStep`: the stream would silently
   * omit the steps up to this number.
   */
  async prepare(key: RunKey, afterStep: number, unknownStep = notAStep): Promise<(sink: RunSink) => RunStream> {
    const found = await this.reader.steps(key, Math.max(0, afterStep - 1), 1);
    if (afterStep > 0 && found.length === 0) throw unknownStep();
    const { buffer, slowAfter: slowAfterMs } = this.config.events;
    return (sink) => new RunStream(this.feed, sink, { key, afterStep, buffer, slowAfterMs });
  }

  /** Whether the run is finished, and this step is its last one. */
  async isEnd(key: RunKey, step: number): Promise<boolean> {
    const { state } = await this.reader.get(key);
    const found = await this.reader.steps(key, Math.max(0, step - 1), 2);
    return isFinal(state) && step > 0 && found.length === 1;
  }
}

function notAStep(): Error {
  return validationFailed([{ field: 'afterStep', message: 'afterStep must be the number of a step of this run' }]);
}
