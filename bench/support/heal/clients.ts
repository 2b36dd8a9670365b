import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface ClientsStatus {
  registrations: number;
  refusals: number;
  /** How many events each consumer has received. */
  received: number[];
  /** Clients that ended, with the reason. */
  stopped: string[];
}

export interface ClientsStart {
  url: string;
  key: string;
  agents: { agentId: string; capability: string; transport: string }[];
  /** The transport of each consumer. */
  consumers: string[];
}

export type ClientsOrder = { start: ClientsStart } | { status: true } | { compare: string[] };

/** `compared` has null for each consumer whose events equal the log, or else the difference. */
export type ClientsReport = { status: ClientsStatus } | { compared: (string | null)[] };

/** A query returns at most this many agents, so each group of agents has its own capability. */
export const GROUP_SIZE = 100;

export function groupOf(index: number): string {
  return `storm.${Math.floor(index / GROUP_SIZE)}`;
}

const CONSUMER_TRANSPORTS = ['websocket', 'sse', 'rest'];

/** A fleet of documented agents, two thirds of them on sockets, and documented consumers of every kind, in one process. */
export class Clients {
  private readonly child: ChildProcess;

  constructor(url: string, key: string, { agents, consumers }: { agents: number; consumers: number }) {
    this.child = fork(fileURLToPath(new URL('./clients.process.js', import.meta.url)));
    const start = {
      url,
      key,
      agents: Array.from({ length: agents }, (_, index) => ({
        agentId: `storm-${index}`,
        capability: groupOf(index),
        transport: index % 3 === 0 ? 'http' : 'websocket',
      })),
      consumers: Array.from({ length: consumers }, (_, index) => CONSUMER_TRANSPORTS[index % 3] ?? 'rest'),
    };
    this.child.send({ start } satisfies ClientsOrder);
  }

  async status(): Promise<ClientsStatus> {
    return ((await this.ask({ status: true })) as { status: ClientsStatus }).status;
  }

  async compare(log: string[]): Promise<(string | null)[]> {
    return ((await this.ask({ compare: log })) as { compared: (string | null)[] }).compared;
  }

  async stop(): Promise<void> {
    const exit = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await exit;
  }

  /** Only one call at a time is allowed. */
  private async ask(order: ClientsOrder): Promise<ClientsReport> {
    const answer = once(this.child, 'message') as Promise<[ClientsReport]>;
    this.child.send(order);
    return (await answer)[0];
  }
}
