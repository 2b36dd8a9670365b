import { hideAll } from '../../secret.js';
import type { AgentEvent, AgentMessage, HandleOptions } from '../agent.js';
import { TrackedAgent } from '../tracked.agent.js';
import { toWire } from '../wire/wire.js';
import type { Program } from './program.process.js';
import { ProgramSession, type SessionOptions } from './program.session.js';

export interface SubprocessAgentOptions {
  name: string;
  program: Program;
}

/**
 * A program that answers on its standard output what it is asked on its standard input, as lines of JSON. It is started
 * once and serves many calls; when it crashes, its calls fail and the next one starts it again. A program that ignores a
 * cancel is ended.
 */
export class SubprocessAgent extends TrackedAgent {
  readonly agentType = 'subprocess';
  private readonly options: SessionOptions;
  private session?: Promise<ProgramSession>;

  private constructor({ name, program }: SubprocessAgentOptions) {
    super(name);
    const secrets = Object.values(program.keys ?? {});
    this.options = { label: this.label, program, hide: (text) => hideAll(text, secrets) };
  }

  /** With its program running, so that one that cannot run is noticed here. */
  static async start(options: SubprocessAgentOptions): Promise<SubprocessAgent> {
    const agent = new SubprocessAgent(options);
    await agent.running();
    return agent;
  }

  protected async *converse(
    message: AgentMessage,
    signal: AbortSignal,
    options: HandleOptions,
  ): AsyncGenerator<AgentEvent> {
    const session = await this.running(signal);
    if (session && !signal.aborted) yield* session.ask(toWire(message, options), signal);
  }

  protected override async release(): Promise<void> {
    const session = await this.session?.catch(() => undefined); // one that never began needs no end
    await session?.stop();
  }

  /** Undefined when the caller has left meanwhile: for nobody, no program is started. */
  private async running(signal?: AbortSignal): Promise<ProgramSession | undefined> {
    if (signal?.aborted) return undefined;
    this.session ??= this.begin();
    const session = await this.session;
    if (!session.isEnding) return session;
    await session.over;
    return await this.running(signal);
  }

  private async begin(): Promise<ProgramSession> {
    try {
      const session = await ProgramSession.start(this.options);
      void session.over.then(() => (this.session = undefined));
      return session;
    } catch (error) {
      this.session = undefined;
      throw error;
    }
  }
}
