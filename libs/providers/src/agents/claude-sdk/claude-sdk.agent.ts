import { type ChildProcess, spawn } from 'node:child_process';
import { ProviderError, reasonOf } from '../../errors.js';
import { MICRO_PER_DOLLAR } from '../../presets/prices.js';
import { redactAll, type Secret } from '../../secrets/secret.js';
import type { AgentEvent, AgentMessage, HandleOptions } from '../agent.js';
import { textOnly } from '../content.part.js';
import { ProcessGroup } from '../subprocess/process-group.js';
import { accountOf, PrivateFolder, type ProgramUser } from '../subprocess/program.user.js';
import { TrackedAgent, untilAborted } from '../tracked.agent.js';
import { SdkMessageReader } from './claude-sdk.wire.js';

/** The part of `@anthropic-ai/claude-agent-sdk` that is used here. The package is optional, so its own types cannot be used. */
export interface ClaudeSdk {
  query(params: { prompt: string; options: ClaudeQueryOptions }): AsyncIterable<unknown>;
}

export interface ClaudeQueryOptions {
  model?: string;
  systemPrompt?: string;
  tools: string[];
  allowedTools: string[];
  maxTurns: number;
  maxBudgetUsd?: number;
  permissionMode: 'dontAsk';
  settingSources: [];
  strictMcpConfig: boolean;
  persistSession: boolean;
  cwd?: string;
  env: Record<string, string>;
  extraArgs: Record<string, string | null>;
  abortController: AbortController;
  spawnClaudeCodeProcess(
    options: SpawnRequest,
  ): ChildProcess & { stdin: NonNullable<ChildProcess['stdin']>; stdout: NonNullable<ChildProcess['stdout']> };
}

interface SpawnRequest {
  command: string;
  args: string[];
  cwd?: string;
  env: Record<string, string | undefined>;
}

interface ClaudeSdkAgentOptions {
  name: string;
  sdk: ClaudeSdk;
  model?: string;
  instructions?: string;
  tools: string[];
  maxTurns: number;
  cwd?: string;
  user?: ProgramUser;
  env: Record<string, string>;
  key?: Secret;
}

/**
 * Claude Code interprets parts of a message: `/heapdump` is a command, and `@/etc/passwd` shows that file to the model,
 * whatever tools are allowed. Messages come from many users, so all of this is disabled, and an operator cannot enable
 * it.
 */
const PLAIN_TEXT_ONLY = {
  args: { 'disable-slash-commands': null },
  env: {
    CLAUDE_CODE_DISABLE_ATTACHMENTS: '1',
    CLAUDE_CODE_DISABLE_FILE_MENTIONS: '1',
    CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  },
} as const;
/** Precedes every message. A command must start with a slash, so a message that starts with a line break is never a command. */
const MESSAGE_PREFIX = '\n';

/**
 * Runs the loop of Claude Code, once for each message. It does not read the settings of this machine and uses only the
 * allowed tools. Its processes run as the user that the operator has chosen (S-11), and are stopped when the call ends, because the
 * SDK stops them too slowly. Its files are in a private folder that is deleted with the agent.
 */
export class ClaudeSdkAgent extends TrackedAgent {
  readonly agentType = 'sdk';
  private readonly groups = new Set<ProcessGroup>();
  private readonly account: ReturnType<typeof accountOf>;
  private folder?: Promise<PrivateFolder>;

  /** Throws AGENT_SETTINGS_INVALID if its processes cannot run as their user. */
  constructor(private readonly options: ClaudeSdkAgentOptions) {
    super(options.name);
    this.account = accountOf(options.user);
  }

  protected async *respond(
    message: AgentMessage,
    signal: AbortSignal,
    { budget }: HandleOptions,
  ): AsyncGenerator<AgentEvent> {
    const prompt = MESSAGE_PREFIX + textOnly(message, this.label);
    const abortController = new AbortController();
    const ofCall = new Set<ProcessGroup>();
    signal.addEventListener('abort', () => void this.end(ofCall, abortController));
    this.folder ??= PrivateFolder.create(this.account);
    const { path } = await this.folder;
    if (signal.aborted) return;
    const options = {
      ...this.queryOptions(path, budget?.microUsd),
      abortController,
      spawnClaudeCodeProcess: this.spawner(ofCall, abortController.signal),
    };
    const reader = new SdkMessageReader({ label: this.label, redact: (text) => this.redact(text) });
    try {
      const messages = this.options.sdk.query({ prompt, options });
      for await (const value of untilAborted(messages, signal)) yield* reader.read(value);
    } catch (error) {
      if (error instanceof ProviderError) throw error;
      throw new ProviderError('AGENT_CRASHED', `${this.label} stopped unexpectedly.`, {
        logDetail: this.redact(reasonOf(error)).slice(0, 500),
      });
    }
  }

  protected override async release(): Promise<void> {
    await Promise.all([...this.groups].map(async (group) => await group.stop()));
    const folder = await this.folder?.catch(() => undefined); // a folder that could not be created need not be deleted
    await folder?.remove();
  }

  private queryOptions(
    folder: string,
    microUsd?: number,
  ): Omit<ClaudeQueryOptions, 'abortController' | 'spawnClaudeCodeProcess'> {
    const { model, instructions, tools, maxTurns, cwd, env, key } = this.options;
    return {
      model,
      systemPrompt: instructions,
      tools,
      allowedTools: tools,
      maxTurns,
      ...(microUsd !== undefined && { maxBudgetUsd: microUsd / MICRO_PER_DOLLAR }),
      permissionMode: 'dontAsk',
      settingSources: [],
      strictMcpConfig: true,
      persistSession: false,
      cwd: cwd ?? folder,
      env: {
        CLAUDE_CONFIG_DIR: folder,
        ...env,
        ...PLAIN_TEXT_ONLY.env,
        ...(key && { ANTHROPIC_API_KEY: key.reveal() }),
      },
      extraArgs: PLAIN_TEXT_ONLY.args,
    };
  }

  private spawner(ofCall: Set<ProcessGroup>, ended: AbortSignal): ClaudeQueryOptions['spawnClaudeCodeProcess'] {
    return ({ command, args, cwd, env }) => {
      const child = spawn(command, args, {
        cwd,
        env,
        ...this.account,
        detached: true,
        stdio: ['pipe', 'pipe', 'pipe'],
      });
      if (!child.pid) return child; // the SDK receives an 'error' event
      const group = new ProcessGroup(child);
      for (const groups of [ofCall, this.groups]) groups.add(group);
      void group.exited.then(() => this.groups.delete(group));
      if (ended.aborted) void group.stop(); // the call has already ended
      return child;
    };
  }

  private redact(text: string): string {
    return redactAll(text, [this.options.key]);
  }

  private async end(ofCall: Set<ProcessGroup>, abortController: AbortController): Promise<void> {
    abortController.abort();
    await Promise.all([...ofCall].map(async (group) => await group.stop()));
  }
}
