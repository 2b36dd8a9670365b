import type { Operations } from '../generated/operations.js';
import type { HeartbeatView, RegisterBody, RegistrationView } from '../generated/schema.js';
import { pause } from '../pause.js';
import type { RollcallError } from '../rollcall.error.js';
import { AgentEndpoint, listenAt, type NodeServer } from './agent.endpoint.js';
import { AgentLease, type EndReason } from './agent.lease.js';
import { CallSignature } from './call.signature.js';
import { Changes } from './changes.js';
import { TaskDesk } from './task.desk.js';
import type { AgentWork, TaskHandler } from './task.js';
import { HttpWire, SocketWire, type TaskWire } from './task.wires.js';

type Declared = Omit<RegisterBody, 'agentId' | 'capabilities' | 'leaseToken' | 'takeover' | 'work'>;

/** The fields of a registration, and how the agent works. */
export interface ServeOptions extends Declared {
  agentId: string;
  capabilities: string[];
  /** Answers a task. */
  handle: TaskHandler;
  /** How an agent without an endpoint takes its tasks. `websocket` needs Node 22 or newer. Default: `http`. */
  transport?: 'http' | 'websocket';
  /** Where an agent with an endpoint listens. Default: the port of the endpoint. `false`: pass the requests to `respond`. */
  listen?: { port: number; host?: string } | false;
  /** How the calls of an endpoint are checked. Default: they must be signed. `issuer` is the public URL of the installation. */
  signature?: { issuer: string } | false;
  /** How long `close()` waits for the tasks that the agent executes. Default: 25 seconds. */
  closeTimeoutMs?: number;
  /** Whether SIGTERM and SIGINT close the agent. Default: true. */
  closeOnSignals?: boolean;
  /** Closes the agent. */
  signal?: AbortSignal;
  /** Called after each registration. */
  onRegistered?: (registration: RegistrationView) => void;
  /** Called with each error after which the agent continues. Default: each new message is printed as a warning. */
  onError?: (error: RollcallError) => void;
}

/** An agent that this process serves. */
export interface ServedAgent {
  readonly agentId: string;
  /** Resolves when the agent has left, with the reason. Rejects if the agent cannot continue, for example because its key was revoked. */
  readonly done: Promise<EndReason>;
  /** Finishes the tasks that the agent executes, and deregisters. */
  close(): Promise<void>;
  /** Answers a request to the endpoint of the agent, for an HTTP server of your own. */
  respond(request: Request): Promise<Response>;
}

/** What an agent needs of the client. */
export interface AgentConnection {
  readonly url: string;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** The operations, called with this credential or with that of the client. */
  agents(credential?: string): Operations['agents'];
}

/** `draining`: an operator wants the agent to finish its work and to leave. */
type Phase = 'serving' | 'draining' | 'closing';

const CLOSE_TIMEOUT_MS = 25_000;
const LEAVE_TIMEOUT_MS = 5_000;

/** Registers the agent and serves it. Resolves when the agent is registered. */
export async function serve(connection: AgentConnection, options: ServeOptions): Promise<ServedAgent> {
  const agent = new Agent(connection, options);
  await agent.open();
  return agent;
}

class Agent implements ServedAgent {
  done: Promise<EndReason> = Promise.resolve('shutdown');
  private phase: Phase = 'serving';
  /** Aborted when the agent does not receive work any more. */
  private serving = new AbortController();
  private server: NodeServer | undefined;
  private registration: RegistrationView | undefined;
  private readonly declared: RegisterBody;
  private readonly changes = new Changes();
  private readonly leases: AgentLease;
  private readonly wire: TaskWire;
  private readonly work: AgentWork;
  private readonly endpoint: AgentEndpoint | undefined;
  private readonly onError: (error: RollcallError) => void;

  constructor(
    { url, fetch, agents }: AgentConnection,
    private readonly options: ServeOptions,
  ) {
    const { handle, endpoint, transport, idempotent = false, capacity = 1, signature } = options;
    const { changes } = this;
    this.declared = declaredOf(options);
    this.onError = options.onError ?? warnOnce();
    this.leases = new AgentLease({
      declared: this.declared,
      agents,
      onLost: () => this.work.onLost(),
      onError: this.onError,
      onRegistered: (registration) => {
        this.registration = registration;
        options.onRegistered?.(registration);
      },
    });
    const http = new HttpWire(this.leases, changes);
    const onState = (state: HeartbeatView['desiredState']): void => this.onState(state);
    this.wire = transport === 'websocket' ? new SocketWire(url, http, changes, onState) : http;
    const shared = { handle, isIdempotent: idempotent, changes };
    if (endpoint) {
      const check = signature === false ? undefined : new CallSignature({ url, fetch, issuer: signature?.issuer });
      this.endpoint = new AgentEndpoint({ ...shared, signature: check });
    }
    const { leases, wire, onError } = this;
    this.work = this.endpoint ?? new TaskDesk({ ...shared, capacity, leases, wire, onError });
  }

  get agentId(): string {
    return this.options.agentId;
  }

  async open(): Promise<void> {
    const { endpoint, listen, signal } = this.options;
    signal?.throwIfAborted();
    const stop = (): void => this.leases.end('shutdown');
    signal?.addEventListener('abort', stop);
    try {
      if (endpoint && listen !== false) await this.listen(new URL(endpoint), listen);
      await this.leases.get();
    } catch (error) {
      this.server?.close();
      throw error;
    } finally {
      signal?.removeEventListener('abort', stop);
    }
    this.done = this.run();
  }

  async close(): Promise<void> {
    this.enter('closing');
    await this.done;
  }

  async respond(request: Request): Promise<Response> {
    if (!this.endpoint) throw new TypeError('The agent has no endpoint.');
    return await this.endpoint.respond(request, this.registration?.agent);
  }

  /** Serves until the agent leaves, and deregisters. */
  private async run(): Promise<EndReason> {
    const stopListening = this.closeOnSignals();
    try {
      const reason = await Promise.race([this.leases.ended, this.beat(), this.receive()]);
      this.work.abort();
      if (reason === 'shutdown' || reason === 'drained') await this.leave();
      return reason;
    } finally {
      this.leases.end('shutdown');
      this.serving.abort();
      this.work.abort();
      this.server?.close();
      this.server?.closeAllConnections();
      stopListening();
    }
  }

  /** Receives and finishes work. Returns when the agent has nothing to do any more, because it was drained or closed. */
  private async receive(): Promise<EndReason> {
    const { leases, work } = this;
    for (let failures = 1; ;) {
      while (this.isIn('serving')) {
        const { signal } = this.serving;
        const lease = await leases.get();
        try {
          await work.receive(lease, signal);
          failures = 1;
        } catch (error) {
          if (!signal.aborted) await leases.recover(error, lease, failures++);
        }
      }
      await this.finishWork();
      if (!this.isIn('serving')) return this.isIn('draining') ? 'drained' : 'shutdown';
    }
  }

  /** A draining agent also takes the tasks that wait for it: nobody else gets them. */
  private async finishWork(): Promise<void> {
    const { changes, leases, work } = this;
    for (let taken = 1; taken > 0;) {
      taken = await this.takeRest();
      await changes.until(() => work.inFlight === 0 || this.isIn('serving'), leases.life.signal);
      if (!this.isIn('draining')) return;
    }
  }

  private async takeRest(): Promise<number> {
    for (let failures = 1; ; failures += 1) {
      const lease = await this.leases.get();
      try {
        return await this.work.takeRest(lease);
      } catch (error) {
        await this.leases.recover(error, lease, failures);
      }
    }
  }

  private async beat(): Promise<never> {
    const { leases, options, wire, work } = this;
    for (let failures = 1; ;) {
      const lease = await leases.get();
      const { inFlight } = work;
      try {
        const load = Math.min(1, inFlight / (options.capacity ?? 1));
        const { nextIntervalMs, desiredState, cancelled = [] } = await wire.beat(lease, { inFlight, load });
        failures = 1;
        work.cancel(cancelled);
        this.onState(desiredState);
        await pause(nextIntervalMs, leases.life.signal);
      } catch (error) {
        await leases.recover(error, lease, failures++);
      }
    }
  }

  /** If the server is away, the registration ends with its lease. */
  private async leave(): Promise<void> {
    const lease = this.leases.current;
    if (!lease) return;
    const { agentId, agents, generation } = lease;
    const input = { generation, reason: 'shutdown' } as const;
    await agents.deregister(agentId, input, { timeoutMs: LEAVE_TIMEOUT_MS }).catch(this.onError);
  }

  private onState(state: HeartbeatView['desiredState']): void {
    if (state === 'draining') this.enter('draining');
    else if (this.isIn('draining')) this.enter('serving');
  }

  private isIn(phase: Phase): boolean {
    return this.phase === phase;
  }

  private enter(phase: Phase): void {
    if (this.isIn('closing') || this.isIn(phase)) return;
    this.phase = phase;
    if (phase === 'serving') this.serving = new AbortController();
    else this.serving.abort();
    if (phase === 'closing') this.limitClosing();
    this.changes.notify();
  }

  private limitClosing(): void {
    const { life, end } = this.leases;
    const timer = setTimeout(() => end('shutdown'), this.options.closeTimeoutMs ?? CLOSE_TIMEOUT_MS);
    life.signal.addEventListener('abort', () => clearTimeout(timer));
  }

  private closeOnSignals(): () => void {
    const { signal, closeOnSignals = true } = this.options;
    const close = (): void => this.enter('closing');
    signal?.addEventListener('abort', close);
    if (signal?.aborted) close();
    const process = closeOnSignals ? (globalThis as { process?: NodeProcess }).process : undefined;
    for (const name of SIGNALS) process?.once?.(name, close);
    return () => {
      signal?.removeEventListener('abort', close);
      for (const name of SIGNALS) process?.off?.(name, close);
    };
  }

  private async listen(endpoint: URL, options: { port: number; host?: string } | undefined): Promise<void> {
    const isLocal = /^(127\.|localhost$|\[::1\]$)/.test(endpoint.hostname);
    const port = Number(endpoint.port || (endpoint.protocol === 'https:' ? 443 : 80));
    const where = options ?? { port, host: isLocal ? endpoint.hostname : undefined };
    this.server = await listenAt(where, async (request) => await this.respond(request));
    if (port === 0) endpoint.port = String(this.server.address().port);
    this.declared.endpoint = endpoint.href;
  }
}

interface NodeProcess {
  once?(signal: string, listener: () => void): void;
  off?(signal: string, listener: () => void): void;
}

const SIGNALS = ['SIGTERM', 'SIGINT'];

/** The fields of the registration. */
function declaredOf(options: ServeOptions): RegisterBody {
  const {
    handle: _handle,
    transport: _transport,
    listen: _listen,
    signature: _signature,
    closeTimeoutMs: _closeTimeoutMs,
    closeOnSignals: _closeOnSignals,
    signal: _signal,
    onRegistered: _onRegistered,
    onError: _onError,
    ...declared
  } = options;
  return { name: options.agentId, ...declared, ...(!options.endpoint && { work: 'pull' }) };
}

/** Prints an error once while it repeats. */
function warnOnce(): (error: RollcallError) => void {
  let last = '';
  return ({ message }) => {
    // oxlint-disable-next-line no-console -- an agent without `onError` must not retry silently
    if (message !== last) console.warn(message);
    last = message;
  };
}
