import { Client, type PriorDiscovery, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type ProviderError } from '../errors.js';
import { CallScope } from './call.scope.js';
import type { ProgramTransport } from './program.transport.js';

const IDENTITY = { name: 'rollcall', version: '1' };
/** How long a server may take to confirm the end of a session of the protocol of 2025. */
const END_SESSION_MS = 1_000;
/** Output schemas are not checked: a model reads the output as text, and compiling foreign schemas costs time. */
const ACCEPTS_ALL = { getValidator: () => (input: unknown) => ({ valid: true, data: input, errorMessage: undefined }) };

export type McpTransport = StreamableHTTPClientTransport | ProgramTransport;

export interface ConnectOptions {
  transport: McpTransport;
  timeoutMs: number;
  /** How long the server may take to answer in the protocol of 2026 before it counts as a server of 2025. */
  probeMs: number;
  prior?: PriorDiscovery;
}

/** One connection to a server, in the protocol version that both sides support. It ends when it is retired and idle. */
export class McpConnection {
  private inFlight = 0;
  private retired = false;
  private closing?: Promise<void>;

  private constructor(
    readonly client: Client,
    private readonly transport: McpTransport,
  ) {}

  static async open({ transport, timeoutMs, probeMs, prior }: ConnectOptions): Promise<McpConnection> {
    const client = new Client(IDENTITY, {
      capabilities: {},
      jsonSchemaValidator: ACCEPTS_ALL as never,
      inputRequired: { autoFulfill: false },
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: probeMs } },
    });
    const timer = setTimeout(() => void transport.close(), timeoutMs); // ends the attempt, whatever it waits for
    try {
      await client.connect(transport, { timeout: timeoutMs, ...(prior && { prior }) });
    } catch (error) {
      await transport.close();
      throw error;
    } finally {
      clearTimeout(timer);
    }
    return new McpConnection(client, transport);
  }

  /** A connection that is not usable must be replaced. */
  get isUsable(): boolean {
    return !this.retired && !this.hasEnded;
  }

  get isOldProtocol(): boolean {
    return this.client.getProtocolEra() === 'legacy';
  }

  get hasSession(): boolean {
    return 'sessionId' in this.transport && this.transport.sessionId !== undefined;
  }

  /** Why the program ended, if the server is a program. */
  get failure(): ProviderError | undefined {
    return 'failure' in this.transport ? this.transport.failure : undefined;
  }

  /** The SDK releases a transport that was closed. */
  private get hasEnded(): boolean {
    return this.client.transport === undefined;
  }

  async use<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
    this.inFlight += 1;
    try {
      return await work(this.client);
    } finally {
      this.inFlight -= 1;
      if (this.retired && this.inFlight === 0) await this.close();
    }
  }

  /** Accepts no more calls. The connection closes after the last call. */
  async retire(): Promise<void> {
    this.retired = true;
    if (this.inFlight === 0) await this.close();
  }

  async close(): Promise<void> {
    this.retired = true;
    this.closing ??= this.end();
    await this.closing;
  }

  private async end(): Promise<void> {
    if ('terminateSession' in this.transport && !this.hasEnded) await this.endSession(this.transport);
    await this.client.close();
    await this.transport.close();
  }

  private async endSession(transport: StreamableHTTPClientTransport): Promise<void> {
    if (transport.sessionId === undefined) return;
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), END_SESSION_MS);
    await CallScope.run(limit.signal, async () => await transport.terminateSession()).catch(() => undefined); // the server may be gone
    clearTimeout(timer);
  }
}
