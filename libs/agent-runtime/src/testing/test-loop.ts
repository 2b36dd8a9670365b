import { type ModelProvider, userMessage } from '#rollcall/providers';
import { ASK_TOOLBOX } from '../loop/caller.question.js';
import type { LoopEvent, LoopStep } from '../loop/loop.step.js';
import type { ReactLoopOptions } from '../loop/next.move.js';
import { type LoopParts, reactLoop } from '../loop/react.loop.js';
import type { RunOutcome } from '../loop/run.outcome.js';
import { applyStep, initialState, type RunState } from '../loop/run.state.js';
import { attemptModel } from '../middleware/compose.js';
import type { RunCall } from '../middleware/middleware.js';
import { MapRunMemory } from '../tools/run.memory.js';
import { ToolExecutor } from '../tools/tool.executor.js';
import { type Tool, toolBox } from '../tools/tool.js';
import { ToolSet } from '../tools/tool.set.js';
import { given } from './given.js';

/** Everything that a run reported. */
export interface Reported {
  readonly events: LoopEvent[];
  readonly steps: LoopStep[];
  readonly outcome: RunOutcome;
  /** The state after the last step. */
  readonly state: RunState;
}

export interface TestLoopOptions extends Partial<ReactLoopOptions>, Partial<Pick<LoopParts, 'callModel' | 'now'>> {
  readonly tools?: readonly Tool[];
  readonly maxInputBytes?: number;
}

/** The loop with a given model and tools, without middleware. */
export class TestLoop {
  private readonly run: ReturnType<typeof reactLoop>;

  constructor(model: ModelProvider, options: TestLoopOptions = {}) {
    const { tools = [], callModel = attemptModel, now = () => 0, maxInputBytes = 1_000_000, ...rest } = options;
    const boxes = [...(rest.mayAsk ? [ASK_TOOLBOX] : []), toolBox('test', tools)];
    this.run = reactLoop({
      model,
      callModel,
      now,
      executor: new ToolExecutor({ defaultTimeoutMs: 60_000, maxInputBytes, maxOutputChars: 10_000 }),
      systemPrompt: 'You are ada.',
      options: { maxIterations: 20, mayAsk: false, ...rest },
      tools: (context) => ToolSet.of(boxes, context),
      memory: (stored) => new MapRunMemory(stored),
    });
  }

  /** Reads a run to its end. */
  async read(call: Partial<RunCall> = {}): Promise<Reported> {
    const { state = initialState([userMessage('Hello')]), ...rest } = call;
    const events: LoopEvent[] = [];
    const running = this.run(given.runCall({ state, ...rest }));
    for (;;) {
      const next = await running.next();
      if (next.done) return this.reported(events, next.value, state);
      events.push(next.value);
    }
  }

  /** Starts a run, whose events the test reads. */
  start(call: Partial<RunCall> = {}): ReturnType<ReturnType<typeof reactLoop>> {
    return this.run(given.runCall({ state: initialState([userMessage('Hello')]), ...call }));
  }

  private reported(events: LoopEvent[], outcome: RunOutcome, before: RunState): Reported {
    const steps = events.flatMap((event) => (event.type === 'step' ? [event.step] : []));
    return { events, steps, outcome, state: steps.reduce(applyStep, before) };
  }
}
