import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ProviderError, reasonOf } from '../../errors.js';
import { hideAll, type Secret } from '../../secret.js';
import type { AgentEvent, AgentMessage, HandleOptions } from '../agent.js';
import { ProcessGroup } from '../subprocess/process-group.js';
import { TrackedAgent } from '../tracked.agent.js';
import { untilAborted } from '../until-aborted.js';
import { readSdkMessage } from './claude-sdk.wire.js';

/** What is used of `@anthropic-ai/claude-agent-sdk`, which need not be installed. */
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

export interface ClaudeSdkAgentOptions {
  name: string;
  sdk: ClaudeSdk;
  model?: string;
  instructions?: string;
  tools: string[];
  maxTurns: number;
  cwd?: string;
  env: Record<string, string>;
  key?: Secret;
}

const MICRO_PER_DOLLAR = 1_000_000;

/**
 * Claude Code reads more into a message than its words: `/heapdump` is a command, and `@/etc/passwd` puts that file before
 * the model, whatever tools it was given. Messages come from many hands, so all of this is off, and cannot be put on.
 */
const WORDS_ONLY = {
  args: { 'disable-slash-commands': null },
  env: {
    CLAUDE_CODE_DISABLE_ATTACHMENTS: '1',
    CLAUDE_CODE_DISABLE_FILE_MENTIONS: '1',
    CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  },
} as const;
/** No command begins with it, so that what looks like one reaches the model as words. */
const PLAIN_START = '\n';

/**
 * Claude Code's own loop, one run for each message. It is told nothing of this machine's settings, may use only the tools
 * it was given, and its processes end with the call, since the SDK itself takes its time. What it keeps on disk, it keeps
 * in a folder that goes with the agent.
 */
export class ClaudeSdkAgent extends TrackedAgent {
  readonly agentType = 'sdk';
  private readonly groups = new Set<ProcessGroup>();
  private folder?: Promise<string>;

  constructor(private readonly options: ClaudeSdkAgentOptions) {
    super(options.name);
  }

  protected async *converse(
    message: AgentMessage,
    signal: AbortSignal,
    { budget }: HandleOptions,
  ): AsyncGenerator<AgentEvent> {
    const abortController = new AbortController();
    const own = new Set<ProcessGroup>();
    signal.addEventListener('abort', () => void this.end(own, abortController));
    this.folder ??= mkdtemp(join(tmpdir(), 'rollcall-claude-'));
    const folder = await this.folder;
    if (signal.aborted) return; // meanwhile
    const options = {
      ...this.queryOptions(folder, budget?.microUsd),
      abortController,
      spawnClaudeCodeProcess: this.spawner(own, abortController.signal),
    };
    const facts = { label: this.label, hide: (text: string) => this.hide(text) };
    try {
      const messages = this.options.sdk.query({ prompt: promptOf(message), options });
      for await (const value of untilAborted(messages, signal)) yield* readSdkMessage(value, facts);
    } catch (error) {
      if (error instanceof ProviderError) throw error;
      throw new ProviderError('AGENT_CRASHED', `${this.label} broke off: ${this.hide(reasonOf(error)).slice(0, 500)}`);
    }
  }

  protected override async release(): Promise<void> {
    await Promise.all([...this.groups].map(async (group) => await group.stop()));
    const folder = await this.folder?.catch(() => undefined); // one that could not be made need not be removed
    if (folder) await rm(folder, { recursive: true, force: true, maxRetries: 3 });
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
      env: { CLAUDE_CONFIG_DIR: folder, ...env, ...WORDS_ONLY.env, ...(key && { ANTHROPIC_API_KEY: key.reveal() }) },
      extraArgs: WORDS_ONLY.args,
    };
  }

  private spawner(own: Set<ProcessGroup>, ended: AbortSignal): ClaudeQueryOptions['spawnClaudeCodeProcess'] {
    return ({ command, args, cwd, env }) => {
      const child = spawn(command, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
      if (!child.pid) return child; // the SDK hears of it by an event
      const group = new ProcessGroup(child);
      for (const groups of [own, this.groups]) groups.add(group);
      void group.gone.then(() => this.groups.delete(group));
      if (ended.aborted) void group.stop(); // started for nobody
      return child;
    };
  }

  private hide(text: string): string {
    return hideAll(text, [this.options.key]);
  }

  private async end(own: Set<ProcessGroup>, abortController: AbortController): Promise<void> {
    abortController.abort();
    await Promise.all([...own].map(async (group) => await group.stop()));
  }
}

function promptOf({ text, data }: AgentMessage): string {
  return `${PLAIN_START}${text}${data === undefined ? '' : `\n\n${JSON.stringify(data)}`}`;
}
