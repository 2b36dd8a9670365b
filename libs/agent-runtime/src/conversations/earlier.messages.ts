import { type ModelMessage, userMessage } from '#rollcall/providers';
import type { LoopStep } from '../loop/loop.step.js';
import { afterEarlier, closedMessages, resume, type RunState } from '../loop/run.state.js';
import { estimateMessages } from '../loop/token.estimate.js';
import { type RunStep, toLoopSteps } from '../runs/run.step.js';

/** A finished run of the conversation. */
export interface EarlierRun {
  readonly id: string;
  /** The run that it repeats. */
  readonly retryOf: string | null;
  readonly isRedacted: boolean;
  readonly steps: readonly RunStep[];
}

/** Stands for a message of an earlier run while a summary is read that replaced such messages. */
const PLACEHOLDER = userMessage('');

/**
 * Collects the messages with which a run continues its conversation, from the steps of the earlier runs on the same agent, newest first.
 * Nothing is copied, so a run that is redacted or deleted is forgotten. If an earlier run was summarised, its summary replaces the same
 * messages as in that run, and the runs before it are read only for the last messages that the summary did not replace.
 */
export class EarlierMessages {
  /** The messages after the summary, oldest first. */
  private tail: ModelMessage[] = [];
  /** How many messages of redacted runs are at the beginning of `tail`. */
  private redacted = 0;
  private summary?: ModelMessage;
  /** How many messages of the runs before the summary are missing. */
  private missing = Infinity;
  private first?: ModelMessage;
  private readonly repeated = new Set<string>();
  /** The runs all of whose messages are in `tail`. */
  private readonly taken = new Set<string>();
  /** What the newest run knows about the size of the conversation. */
  private tokens?: number;
  private hasNewest = false;

  /** `retryOf` is the run that the continuing run repeats. A run that was repeated is left out. */
  constructor(retryOf: string | null) {
    if (retryOf !== null) this.repeated.add(retryOf);
  }

  /** Whether earlier runs are not needed. */
  get isComplete(): boolean {
    return this.missing === 0;
  }

  /** Whether the first message of the conversation is needed, which a summary never replaces. */
  get needsFirst(): boolean {
    return this.summary !== undefined;
  }

  add(run: EarlierRun): void {
    if (this.isComplete || this.repeated.has(run.id)) return;
    if (run.retryOf !== null) this.repeated.add(run.retryOf);
    const steps = toLoopSteps(run.steps);
    const own = resume(steps.filter(({ type }) => type !== 'context-summarised'));
    if (!this.hasNewest && !run.isRedacted) this.tokens = countedTokens(steps, own);
    this.hasNewest = true;
    const earlier = run.isRedacted || this.summary ? undefined : earlierOf(steps);
    if (earlier === undefined) this.addOwn(run, closedMessages(own));
    else this.addSummarised(run, steps, earlier);
  }

  /** The oldest run that still has its contents. */
  addFirst({ id, steps }: Pick<EarlierRun, 'id' | 'steps'>): void {
    if (!this.taken.has(id)) this.first = closedMessages(resume(toLoopSteps(steps)))[0];
  }

  /** The state with which the run begins. */
  state(): RunState {
    const { first, summary, tail, redacted } = this;
    const messages = [...(first ? [first] : []), ...(summary ? [summary] : []), ...tail.slice(redacted)];
    return afterEarlier(messages, this.tokens ?? estimateMessages(messages));
  }

  private addOwn({ id, isRedacted }: EarlierRun, all: readonly ModelMessage[]): void {
    const taken = all.slice(Math.max(0, all.length - this.missing));
    if (taken.length === all.length) this.taken.add(id);
    this.missing -= taken.length;
    this.tail.unshift(...taken);
    this.redacted = isRedacted ? this.redacted + taken.length : 0;
  }

  /** `earlier` is how many messages of earlier runs the run began with. */
  private addSummarised(run: EarlierRun, steps: readonly LoopStep[], earlier: number): void {
    const placeholders = Array.from({ length: earlier }, () => PLACEHOLDER);
    const messages = closedMessages(resume(steps, afterEarlier(placeholders, 0)));
    const left = messages.filter((message) => message === PLACEHOLDER).length;
    if (left === 0) {
      this.addOwn(run, messages); // the run was the first one
      this.missing = 0;
      return;
    }
    this.summary = messages[1];
    this.missing = left - 1;
    this.tail.unshift(...messages.slice(left + 1));
    this.redacted = 0;
  }
}

/** How many messages of earlier runs the run began with; undefined if it was not summarised. */
function earlierOf(steps: readonly LoopStep[]): number | undefined {
  const summarised = steps.find(({ type }) => type === 'context-summarised');
  return summarised?.type === 'context-summarised' ? (summarised.earlier ?? 0) : undefined;
}

/** The tokens of the conversation, if the model has counted them. */
function countedTokens(steps: readonly LoopStep[], { contextTokens }: RunState): number | undefined {
  const isCounted = steps.some((step) => step.type === 'model-replied' && step.reply.usage.inputTokens !== undefined);
  return isCounted ? contextTokens : undefined;
}
