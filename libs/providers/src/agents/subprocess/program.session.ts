import { LONG_CALL_LIMITS } from '../../egress/egress.client.js';
import { ProviderError, reasonOf } from '../../errors.js';
import type { AgentEvent } from '../agent.js';
import type { WireMessage } from '../wire/wire.message.js';
import { WireReader } from '../wire/wire.reader.js';
import { type Program, ProgramProcess } from './program.process.js';

interface Call {
  queue: EventQueue<AgentEvent>;
  reader: WireReader;
  /** The number of characters that the program has written for this call. */
  written: number;
  /** The timer of a cancellation. It runs until the program confirms the cancellation. */
  cancelTimer?: NodeJS.Timeout;
}

export interface SessionOptions {
  label: string;
  program: Program;
  /** Removes keys from the output of the program. */
  redact(text: string): string;
}

/** A program that does not confirm a cancellation within this time is stopped. */
const CANCEL_TIMEOUT_MS = 400;
/** A program that has closed its output must exit within this time. */
const EXIT_TIMEOUT_MS = 100;
/** How much of a wrong line the log contains. */
const MAX_LOGGED_CHARS = 500;
/** The same limit as for answers over HTTP. Without it, a caller that reads slowly would fill the memory. */
const MAX_ANSWER_LENGTH = LONG_CALL_LIMITS.bytes;

/** One run of a program, from its start to its exit, with the calls that it handles. Each call has an id. */
export class ProgramSession {
  /** Resolves when the program has exited and all its calls have ended. */
  readonly ended: Promise<void>;
  private readonly calls = new Map<string, Call>();
  private ending = false;

  private constructor(
    private readonly process: ProgramProcess,
    private readonly options: SessionOptions,
  ) {
    this.ended = this.readUntilExit();
  }

  static async start(options: SessionOptions): Promise<ProgramSession> {
    const process = await ProgramProcess.start(options.program).catch((error: unknown) => {
      if (error instanceof ProviderError) throw error;
      const logDetail = options.redact(reasonOf(error));
      throw new ProviderError('AGENT_CRASHED', `The program of ${options.label} cannot be started.`, { logDetail });
    });
    return new ProgramSession(process, options);
  }

  /** When true, the session accepts no more calls: a new session must be started. */
  get isEnding(): boolean {
    return this.ending;
  }

  async *call(message: WireMessage, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    const reader = new WireReader(this.options.label, this.options.redact);
    const call: Call = { queue: new EventQueue(), reader, written: 0 };
    const onAbort = (): void => call.queue.end();
    this.calls.set(message.id, call);
    signal.addEventListener('abort', onAbort);
    try {
      this.process.send(message);
      yield* call.queue;
    } finally {
      signal.removeEventListener('abort', onAbort);
      if (this.calls.has(message.id)) this.cancel(message.id, call);
    }
  }

  async stop(): Promise<void> {
    this.ending = true;
    await this.process.group.stop();
    await this.ended;
  }

  /**
   * Cancels a call. The call stays registered until the program confirms the cancellation. A program that does not confirm in time is
   * stopped, and its other calls fail.
   */
  private cancel(id: string, call: Call): void {
    if (call.cancelTimer) return;
    call.queue.end();
    this.process.send({ type: 'cancel', id });
    call.cancelTimer = setTimeout(() => void this.stop(), CANCEL_TIMEOUT_MS);
  }

  private async readUntilExit(): Promise<void> {
    const { group } = this.process;
    const fault = await this.process
      .read((line) => this.onLine(line))
      .then(
        () => undefined,
        (error: unknown) => error,
      );
    this.ending = true;
    if (fault || !(await group.exitsWithin(EXIT_TIMEOUT_MS))) await group.stop();
    const how = fault ? `was stopped: ${reasonOf(fault)}` : `${await group.exited}.`;
    const message = `The program of ${this.options.label} ${how}`;
    const logDetail = (fault instanceof ProviderError && fault.logDetail) || this.options.redact(group.stderr.trim());
    for (const id of this.calls.keys()) this.end(id, new ProviderError('AGENT_CRASHED', message, { logDetail }));
    await this.process.ended;
  }

  private onLine(line: string): void {
    const { id, ...value } = this.parse(line);
    const call = this.calls.get(id);
    if (!call) return; // the call has ended
    call.written += line.length;
    if (call.written > MAX_ANSWER_LENGTH) this.rejectAnswer(id, call);
    try {
      const event = call.reader.read(value);
      if (event) call.queue.push(event);
      if (event?.type === 'finished') this.end(id);
    } catch (error) {
      this.end(id, error as Error);
    }
  }

  /** Fails the call immediately and cancels it in the program. */
  private rejectAnswer(id: string, call: Call): void {
    const message = `${this.options.label} sent more than the ${MAX_ANSWER_LENGTH} characters allowed.`;
    call.queue.end(new ProviderError('AGENT_ANSWER_UNREADABLE', message));
    this.cancel(id, call);
  }

  private parse(line: string): { id: string } {
    const value: unknown = new WireReader(this.options.label, this.options.redact).parse(line);
    const { id } = (value ?? {}) as { id?: unknown };
    if (typeof id !== 'string')
      throw new ProviderError('AGENT_ANSWER_UNREADABLE', 'It wrote a line without the id of a call.', {
        logDetail: this.options.redact(line).slice(0, MAX_LOGGED_CHARS),
      });
    return { ...(value as object), id };
  }

  private end(id: string, error?: Error): void {
    const call = this.calls.get(id);
    this.calls.delete(id);
    clearTimeout(call?.cancelTimer);
    call?.queue.end(error);
  }
}

/** A queue of events for one reader. The reader gets the events in order, and then the error, if there is one. */
class EventQueue<Event> implements AsyncIterable<Event> {
  private readonly waiting: Event[] = [];
  private ending?: { error?: Error };
  private wake?: () => void;

  push(event: Event): void {
    if (this.ending) return;
    this.waiting.push(event);
    this.wake?.();
  }

  end(error?: Error): void {
    this.ending ??= { error };
    this.wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event> {
    for (;;) {
      const event = this.waiting.shift();
      if (event !== undefined) yield event;
      else if (this.ending?.error) throw this.ending.error;
      else if (this.ending) return;
      else await this.change();
    }
  }

  private async change(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.wake = resolve;
    await promise;
  }
}
