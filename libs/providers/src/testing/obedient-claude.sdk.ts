import { createInterface } from 'node:readline';
import type { ClaudeQueryOptions, ClaudeSdk } from '../agents/claude-sdk/claude-sdk.agent.js';

interface Line {
  type: 'text' | 'result' | 'error';
  text?: string;
  message?: string;
}

/**
 * Stands in for the Claude Agent SDK 0.3, whose messages have been compared with the original's: starts a real process through the hook it is given, and says what that process says
 * in the SDK's messages. Like the original it does not hurry when it is aborted.
 */
export class ObedientClaudeSdk implements ClaudeSdk {
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
      const { type, text = '', message = '' } = JSON.parse(line) as Line;
      if (type === 'text') yield assistant(text);
      if (type === 'text') said += text;
      if (type === 'result') return yield this.result({ subtype: 'success', is_error: false, result: said });
      if (type === 'error') yield this.result({ subtype: 'error_during_execution', is_error: true, errors: [message] });
    }
    throw new Error(`Claude Code process exited with code ${child.exitCode}`);
  }

  private result(facts: object): object {
    return { type: 'result', ...facts, modelUsage: this.modelUsage, usage: { input_tokens: 1, output_tokens: 1 } };
  }
}

function assistant(text: string): object {
  return { type: 'assistant', parent_tool_use_id: null, message: { content: [{ type: 'text', text }] } };
}
