import { spawn, type ChildProcess } from 'node:child_process';
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
 * Claude Code's own loop, one run for each message. It is told nothing of this machine's settings, may use only the tools
 * it was given, and its processes end with the call, since the SDK itself takes its time.
 */
export class ClaudeSdkAgent extends TrackedAgent {
  readonly agentType = 'sdk';
  private readonly groups = new Set<ProcessGroup>();

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
    const options = {
      ...this.queryOptions(budget?.microUsd),
      abortController,
      spawnClaudeCodeProcess: this.spawner(own),
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
  }

  private queryOptions(microUsd?: number): Omit<ClaudeQueryOptions, 'abortController' | 'spawnClaudeCodeProcess'> {
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
      cwd,
      env: { ...env, ...(key && { ANTHROPIC_API_KEY: key.reveal() }) },
    };
  }

  private spawner(own: Set<ProcessGroup>): ClaudeQueryOptions['spawnClaudeCodeProcess'] {
    return ({ command, args, cwd, env }) => {
      const child = spawn(command, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
      if (!child.pid) return child; // the SDK hears of it by an event
      const group = new ProcessGroup(child);
      for (const groups of [own, this.groups]) groups.add(group);
      void group.gone.then(() => this.groups.delete(group));
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
  return data === undefined ? text : `${text}\n\n${JSON.stringify(data)}`;
}
