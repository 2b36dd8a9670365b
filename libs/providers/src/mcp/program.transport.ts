import { deserializeMessage, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/client';
import { type Program, ProgramProcess } from '../agents/subprocess/program.process.js';
import { ProviderError, reasonOf } from '../errors.js';
import { MAX_ANSWER_BYTES } from './call.scope.js';

/**
 * An MCP server that is a child process. Unlike the transport of the SDK, it gives the program only the configured environment
 * and ends the whole process group.
 */
export class ProgramTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** The SDK recognises the transport of a program by `stderr` and `pid`. `ProcessGroup` reads the standard error of the program. */
  readonly stderr = null;
  readonly pid = null;
  /** Why the connection ended. */
  failure?: ProviderError;
  private process?: ProgramProcess;
  private ended?: Promise<void>;

  constructor(
    private readonly program: Program,
    private readonly label: string,
  ) {}

  async start(): Promise<void> {
    try {
      this.process = await ProgramProcess.start(this.program);
    } catch (error) {
      if (error instanceof ProviderError) throw (this.failure = error);
      throw this.fail('MCP_SERVER_UNREACHABLE', 'cannot be started.', reasonOf(error));
    }
    this.ended = this.readUntilExit(this.process);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.process?.send(message);
  }

  async close(): Promise<void> {
    await this.process?.group.stop();
    await this.ended;
  }

  private async readUntilExit(process: ProgramProcess): Promise<void> {
    try {
      await process.read((line) => this.receive(line), MAX_ANSWER_BYTES);
    } catch {
      this.fail(
        'MCP_ANSWER_UNREADABLE',
        `sent more than ${MAX_ANSWER_BYTES} characters in one message and was stopped.`,
      );
    }
    await process.group.stop(); // a program that has closed its output can answer no more calls
    const how = await process.group.exited;
    this.fail('MCP_SERVER_UNREACHABLE', `${how}.`, process.group.stderr.trim());
    this.onclose?.();
    await process.ended;
  }

  private receive(line: string): void {
    try {
      this.onmessage?.(deserializeMessage(line));
    } catch (error) {
      this.onerror?.(error as Error); // some programs also write log lines
    }
  }

  private fail(
    code: 'MCP_SERVER_UNREACHABLE' | 'MCP_ANSWER_UNREADABLE',
    what: string,
    logDetail?: string,
  ): ProviderError {
    this.failure ??= new ProviderError(code, `The program of ${this.label} ${what}`, { logDetail });
    return this.failure;
  }
}
