import { z } from 'zod';
import { ProviderError } from '../../errors.js';
import { isForNamespace, type NamespaceRestriction } from '../../namespace.restriction.js';
import { redactAll, type Secret, type SecretSource } from '../../secrets/secret.js';
import type { Agent, AgentEvent, AgentMessage, HandleOptions } from '../agent.js';
import {
  type AgentConfig,
  type AgentProvider,
  type Need,
  needOf,
  type ProviderDescription,
  readSettings,
  settingsView,
} from '../agent.provider.js';
import { TrackedAgent } from '../tracked.agent.js';
import { toWire } from '../wire/wire.message.js';
import type { Program } from './program.process.js';
import { ProgramSession, type SessionOptions } from './program.session.js';

const HOW_TO_ALLOW = 'List them in the setting providers.programs.';
const SettingsSchema = z.strictObject({ program: z.string().min(1) });

export interface AllowedProgram extends Omit<Program, 'keys'>, NamespaceRestriction {
  /** The names of keys to add to its environment. */
  secretEnv?: string[];
}

type Programs = ReadonlyMap<string, AllowedProgram>;

interface SubprocessProviderOptions {
  /** The programs that may be started, by name. */
  programs: Record<string, AllowedProgram>;
  secrets: SecretSource;
}

function unknown(name: string, programs: Programs): ProviderError {
  const message = `Agents may not run the program ${name}. The operator allows: ${namesOf(programs)}.`;
  return new ProviderError('AGENT_SETTINGS_INVALID', message);
}

function namesOf(programs: Programs): string {
  return [...programs.keys()].toSorted().join(', ') || 'none';
}

/**
 * Creates agents that are child processes. A definition names one of the programs that the operator allows. It cannot
 * contain a command or arguments, because definitions come from many users. docs/providers.md describes the protocol.
 */
export class SubprocessAgentProvider implements AgentProvider {
  readonly name = 'subprocess';
  readonly agentType = 'subprocess';
  readonly settingsSchema = SettingsSchema;
  private readonly programs: Programs;

  constructor(private readonly options: SubprocessProviderOptions) {
    this.programs = new Map(Object.entries(options.programs));
  }

  describe(namespace?: string): ProviderDescription {
    const allowed = this.allowedIn(namespace);
    const needs = [
      needOf('programs that agents may run', allowed.size > 0, HOW_TO_ALLOW),
      ...this.keysNeeded([...allowed.values()]),
    ];
    const about = `Child processes that read and write lines of JSON; allowed programs: ${namesOf(allowed)}`;
    return { about, needs, settings: settingsView(SettingsSchema) };
  }

  async createAgent(config: AgentConfig): Promise<Agent> {
    const settings = readSettings(SettingsSchema, config, this.name);
    const programs = this.allowedIn(config.namespace);
    const allowed = programs.get(settings.program);
    if (!allowed) throw unknown(settings.program, programs);
    const { secretEnv = [], namespaces: _namespaces, ...program } = allowed;
    const keys = Object.fromEntries(secretEnv.map((name) => [name, this.secret(name)]));
    return await SubprocessAgent.start({ name: config.name, program: { ...program, keys } });
  }

  private secret(name: string): Secret {
    const secret = this.options.secrets(name);
    if (secret) return secret;
    throw new ProviderError('AGENT_SETTINGS_INVALID', `The program needs the key ${name}, which is not set.`);
  }

  /** The programs that agents of this namespace may run. */
  private allowedIn(namespace: string | undefined): Programs {
    return new Map([...this.programs].filter(([, program]) => isForNamespace(program, namespace)));
  }

  private keysNeeded(programs: readonly AllowedProgram[]): Need[] {
    const names = new Set(programs.flatMap(({ secretEnv = [] }) => secretEnv));
    return [...names].map((name) =>
      needOf(name, this.options.secrets(name) !== undefined, `Set ${name} where Rollcall runs.`),
    );
  }
}

interface SubprocessAgentOptions {
  name: string;
  program: Program;
}

/**
 * A program that reads messages as lines of JSON from standard input and writes answers to standard output. One process
 * handles many calls. When it crashes, its calls fail, and the next call starts it again. A program that ignores a
 * cancellation is stopped.
 */
class SubprocessAgent extends TrackedAgent {
  readonly agentType = 'subprocess';
  private readonly options: SessionOptions;
  private session?: Promise<ProgramSession>;

  private constructor({ name, program }: SubprocessAgentOptions) {
    super(name);
    const secrets = Object.values(program.keys ?? {});
    this.options = { label: this.label, program, redact: (text) => redactAll(text, secrets) };
  }

  /** Starts the program. Throws if the program cannot run. */
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
