import { redactAll } from '../../secret.js';
import type { AgentEvent, AgentMessage, HandleOptions } from '../agent.js';
import { TrackedAgent } from '../tracked.agent.js';
import { toWire } from '../wire/wire.message.js';
import type { Program } from './program.process.js';
import { ProgramSession, type SessionOptions } from './program.session.js';

export interface SubprocessAgentOptions {
  name: string;
  program: Program;
}

/**
 * A program that reads messages as lines of JSON from standard input and writes answers to standard output. One process
 * handles many calls. When it crashes, its calls fail, and the next call starts it again. A program that ignores a
 * cancellation is stopped.
 */
export class SubprocessAgent extends TrackedAgent {
  readonly agentType = 'subprocess';
  private readonly options: SessionOptions;
  private session?: Promise<ProgramSession>;

  private constructor({ name, program }: SubprocessAgentOptions) {
    super(name);
    const secrets = Object.values(program.keys ?? {});
    this.options = { label: this.label, program, redact: (text) => redactAll(text, secrets) };
  }

  /** Starts the program, so that a program that cannot run is noticed here. */
  static async start(options: SubprocessAgentOptions): Promise<SubprocessAgent> {
    const agent = new SubprocessAgent(options);
    await agent.running();
    return agent;
  }

  protected async *respond(
    message: AgentMessage,
    signal: AbortSignal,
    options: HandleOptions,
  ): AsyncGenerator<AgentEvent> {
    const session = await this.running(signal);
    if (session && !signal.aborted) yield* session.call(toWire(message, options), signal);
  }

  protected override async release(): Promise<void> {
    const session = await this.session?.catch(() => undefined); // a session that could not start needs no stop
    await session?.stop();
  }

  /** Returns the running session, or starts one. Returns undefined if the call was aborted. */
  private async running(signal?: AbortSignal): Promise<ProgramSession | undefined> {
    if (signal?.aborted) return undefined;
    this.session ??= this.startSession();
    const session = await this.session;
    if (!session.isEnding) return session;
    await session.ended;
    return await this.running(signal);
  }

  private async startSession(): Promise<ProgramSession> {
    try {
      const session = await ProgramSession.start(this.options);
      void session.ended.then(() => (this.session = undefined));
      return session;
    } catch (error) {
      this.session = undefined;
      throw error;
    }
  }
}
