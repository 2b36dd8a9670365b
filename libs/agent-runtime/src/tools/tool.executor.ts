import { ProviderError, type ToolCallPart } from '#rollcall/providers';
import { suggestion } from './closest.name.js';
import { jsonProblem } from './json.check.js';
import { type CallEnvironment, RunningCall } from './running.call.js';
import { failedOutput, type ToolOutput, toOutput } from './tool.output.js';
import type { ToolSet } from './tool.set.js';

export interface ToolExecutorOptions {
  /** The time limit of tools that define none. */
  readonly defaultTimeoutMs: number;
  readonly maxInputBytes: number;
  readonly maxOutputChars: number;
  /** Removes secrets from the texts of errors. */
  readonly redact?: (text: string) => string;
}

const MAX_NAMES_SHOWN = 50;
const MAX_NAME_SHOWN = 100;
/** A longer error text is cut before secrets are removed from it. This limit is higher than any output limit. */
const MAX_ERROR_CHARS = 1 << 20;

/**
 * Executes tool calls. Everything that goes wrong in a call becomes an output that the model can read: an unknown tool, malformed,
 * invalid or too large input, an error of the tool, its time limit, and a result that is not JSON. The text of an error contains no key
 * that the operator has configured. `execute` rejects only if the run is cancelled, with CALL_ABORTED.
 */
export class ToolExecutor {
  private readonly inProgress = new Set<string>();

  constructor(private readonly options: ToolExecutorOptions) {}

  async execute(call: ToolCallPart, tools: ToolSet, context: CallEnvironment): Promise<ToolOutput> {
    if (context.signal.aborted) throw cancelled(call);
    const problem = this.problemOf(call, tools);
    if (problem) return problem;
    const key = `${context.run.runId}/${call.id}`;
    if (this.inProgress.has(key))
      return this.failed(`Another call with the id ${call.id} is in progress. Use a different id for each call.`);
    this.inProgress.add(key);
    const { tool } = tools.find(call.name)!;
    try {
      const limitMs = tool.timeoutMs ?? this.options.defaultTimeoutMs;
      const value = await new RunningCall(tool, call, context).finish(limitMs);
      return toOutput(value, this.options.maxOutputChars);
    } catch (error) {
      if (context.signal.aborted) throw cancelled(call);
      return this.failed(`The tool ${call.name} failed: ${reasonOf(error)}`);
    } finally {
      this.inProgress.delete(key);
    }
  }

  /**
   * Returns the output of a call that cannot be executed, or undefined if it can. Never executes the call. The loop uses this method
   * before it asks an operator for an approval.
   */
  async check(call: ToolCallPart, tools: ToolSet): Promise<ToolOutput | undefined> {
    const problem = this.problemOf(call, tools);
    if (problem) return problem;
    try {
      const parsed = await tools.find(call.name)?.tool.parse(call.input);
      return parsed?.ok === false ? this.failed(`The input is invalid: ${parsed.problems}.`) : undefined;
    } catch (error) {
      return this.failed(reasonOf(error));
    }
  }

  private problemOf(call: ToolCallPart, tools: ToolSet): ToolOutput | undefined {
    if (!tools.find(call.name)) return this.failed(unknownTool(call.name, tools));
    if (call.malformed !== undefined)
      return this.failed('The input is not valid JSON. Send one JSON object that matches the schema of the tool.');
    const limits = { maxBytes: this.options.maxInputBytes, rejectsReservedNames: true };
    const problem = jsonProblem(call.input, limits);
    return problem === undefined ? undefined : this.failed(`The input ${problem}. Send a smaller or simpler input.`);
  }

  private failed(text: string): ToolOutput {
    const { redact, maxOutputChars } = this.options;
    return failedOutput(redact ? redact(text.slice(0, MAX_ERROR_CHARS)) : text, maxOutputChars);
  }
}

function unknownTool(name: string, { names }: ToolSet): string {
  const known = names.length === 0 ? 'No tools are available' : `Available: ${listed(names)}`;
  return `There is no tool named ${name.slice(0, MAX_NAME_SHOWN)}${suggestion(name, names)}. ${known}.`;
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES_SHOWN).join(', ');
  return names.length > MAX_NAMES_SHOWN ? `${shown}, …` : shown;
}

function cancelled({ name }: ToolCallPart): ProviderError {
  return new ProviderError('CALL_ABORTED', `The call of the tool ${name} was cancelled.`);
}

/** The message of any thrown value. */
function reasonOf(error: unknown): string {
  const { message } = (error ?? {}) as { message?: unknown };
  if (typeof message === 'string' && message !== '') return message;
  try {
    return String(error);
  } catch {
    return 'It threw a value that is not an error.'; // an object without a prototype cannot be converted
  }
}
