import { createInterface } from 'node:readline';
import type { ClaudeQueryOptions, ClaudeSdk } from '../agents/claude-sdk/claude-sdk.agent.js';

interface Line {
  type: 'text' | 'result' | 'error';
  text?: string;
  message?: string;
  /** The limit that the agent reached. */
  reason?: string;
  detail?: string;
}

/** The SDK has its own names for the limits. */
const LIMITS: Record<string, string> = { iterations: 'error_max_turns', budget: 'error_max_budget_usd' };

/**
 * A fake of the Claude Agent SDK 0.3. It starts a real process with the given hook and converts the output of the process
 * to messages of the SDK. The format of the messages was compared with the real SDK. Like the real SDK, the fake reacts
 * slowly when it is aborted.
 */
export class FakeClaudeSdk implements ClaudeSdk {
  readonly queries: ClaudeQueryOptions[] = [];
  readonly prompts: string[] = [];

  constructor(
    private readonly program: string[],
    private readonly modelUsage: Record<string, object> = {},
  ) {}

  async *query({ prompt, options }: { prompt: string; options: ClaudeQueryOptions }): AsyncGenerator {
    this.queries.push(options);
    this.prompts.push(prompt);
    const { env, cwd } = options;
    const child = options.spawnClaudeCodeProcess({ command: process.execPath, args: this.program, env, cwd });
    child.stdin.write(`${JSON.stringify({ type: 'message', id: '1', text: prompt.trim() })}\n`);
    let said = '';
    yield { type: 'system', subtype: 'init', session_id: 's' };
    for await (const line of createInterface({ input: child.stdout })) {
      const { type, text = '', message = '', reason, detail } = JSON.parse(line) as Line;
      if (type === 'text') yield assistant(text);
      if (type === 'text') said += text;
      if (reason) return yield this.result({ subtype: LIMITS[reason], is_error: true, errors: [detail] });
      if (type === 'result') return yield this.result({ subtype: 'success', is_error: false, result: said });
      if (type === 'error') yield this.result({ subtype: 'error_during_execution', is_error: true, errors: [message] });
    }
    throw new Error(`Claude Code process exited with code ${child.exitCode}`);
  }

  private result(fields: object): object {
    return { type: 'result', ...fields, modelUsage: this.modelUsage, usage: { input_tokens: 1, output_tokens: 1 } };
  }
}

function assistant(text: string): object {
  return { type: 'assistant', parent_tool_use_id: null, message: { content: [{ type: 'text', text }] } };
}
