import { ProviderError, reasonOf } from '../../errors.js';
import type { AgentEvent } from '../agent.js';
import { PATIENT_LIMITS } from '../../egress/egress.client.js';
import { WireReader, type WireMessage } from '../wire/wire.js';
import { EventQueue } from './event.queue.js';
import { ProgramProcess, type Program } from './program.process.js';

interface Call {
  queue: EventQueue<AgentEvent>;
  reader: WireReader;
  /** Characters the program has written for it. */
  written: number;
  /** Runs while the program is given time to obey a cancel. */
  patience?: NodeJS.Timeout;
}

export interface SessionOptions {
  label: string;
  program: Program;
  /** Takes keys out of what the program wrote before it ended. */
  hide(text: string): string;
}

/** How long a program may take to obey a cancel before it is ended. */
const OBEY_MS = 400;
const LAST_WORDS_MS = 100;
/** As much as an agent may answer over HTTP: nobody may be reading as fast as the program writes. */
const LONGEST_ANSWER = PATIENT_LIMITS.bytes;

/** One life of a program, from its start to its end, and the calls it serves meanwhile, told apart by their ids. */
export class ProgramSession {
  /** Settles when the program is gone and all its calls have ended. */
  readonly over: Promise<void>;
  private readonly calls = new Map<string, Call>();
  private ending = false;

  private constructor(
    private readonly process: ProgramProcess,
    private readonly options: SessionOptions,
  ) {
    this.over = this.attend();
  }

  static async start(options: SessionOptions): Promise<ProgramSession> {
    const process = await ProgramProcess.start(options.program).catch((error: unknown) => {
      const reason = options.hide(reasonOf(error));
      throw new ProviderError('AGENT_CRASHED', `The program of ${options.label} cannot be started: ${reason}`);
    });
    return new ProgramSession(process, options);
  }

  /** Takes no more calls: the next ones are for the next session. */
  get isEnding(): boolean {
    return this.ending;
  }

  async *ask(message: WireMessage, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    const reader = new WireReader(this.options.label, this.options.hide);
    const call: Call = { queue: new EventQueue(), reader, written: 0 };
    const leave = (): void => call.queue.end();
    this.calls.set(message.id, call);
    signal.addEventListener('abort', leave);
    try {
      this.process.send(message);
      yield* call.queue;
    } finally {
      signal.removeEventListener('abort', leave);
      if (this.calls.has(message.id)) this.cancel(message.id, call);
    }
  }

  async stop(): Promise<void> {
    this.ending = true;
    await this.process.group.stop();
    await this.over;
  }

  /** The call stays known until the program confirms; other calls suffer only if it does not. */
  private cancel(id: string, call: Call): void {
    if (call.patience) return;
    call.queue.end();
    this.process.send({ type: 'cancel', id });
    call.patience = setTimeout(() => void this.stop(), OBEY_MS);
  }

  private async attend(): Promise<void> {
    const fault = await this.process.read((line) => this.take(line)).then(() => undefined, reasonOf);
    this.ending = true;
    if (fault || !(await this.process.group.isGoneWithin(LAST_WORDS_MS))) await this.process.group.stop();
    const how = fault ?? (await this.process.group.gone);
    const message = `The program of ${this.options.label} ${this.options.hide(how)}`;
    for (const id of this.calls.keys()) this.end(id, new ProviderError('AGENT_CRASHED', message));
  }

  private take(line: string): void {
    const { id, ...value } = this.parse(line);
    const call = this.calls.get(id);
    if (!call) return; // of a call that has ended
    call.written += line.length;
    if (call.written > LONGEST_ANSWER) this.cutOff(id, call);
    try {
      const event = call.reader.read(value);
      if (event) call.queue.push(event);
      if (event?.type === 'finished') this.end(id);
    } catch (error) {
      this.end(id, error as Error);
    }
  }

  /** The call fails at once; the program is told to leave off, and ended if it does not. */
  private cutOff(id: string, call: Call): void {
    const message = `${this.options.label} answers more than the ${LONGEST_ANSWER} characters allowed.`;
    call.queue.end(new ProviderError('AGENT_ANSWER_UNREADABLE', message));
    this.cancel(id, call);
  }

  private parse(line: string): { id: string } {
    const value: unknown = new WireReader(this.options.label, this.options.hide).parse(line);
    const { id } = (value ?? {}) as { id?: unknown };
    if (typeof id !== 'string')
      throw new Error(`wrote a line without the id of a call: ${this.options.hide(line).slice(0, 100)}`);
    return { ...(value as object), id };
  }

  private end(id: string, error?: Error): void {
    const call = this.calls.get(id);
    this.calls.delete(id);
    clearTimeout(call?.patience);
    call?.queue.end(error);
  }
}
