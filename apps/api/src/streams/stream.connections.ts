import { Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { CredentialWatch } from '../auth/credentials/credential.watch.js';
import type { Principal } from '../auth/principal.js';
import { credentialEnded, shuttingDown, type StreamEnd } from './stream.end.js';

export interface StreamConnection {
  /** False as soon as one side has closed the connection. */
  readonly open: boolean;
  /** Undefined before the first subscription. */
  readonly cursor: string | undefined;
  /** Sends a keep-alive message and, where the protocol allows it, checks that the client responds. */
  beat(): void;
  end(reason: StreamEnd): void;
}

const BEAT_EVERY_MS = 15_000;

/** Sends keep-alive messages on all open connections, and closes a connection when its credential ends or the process stops. */
@Injectable()
export class StreamConnections implements OnModuleInit, OnModuleDestroy {
  private readonly connections = new Set<StreamConnection>();
  private timer?: NodeJS.Timeout;
  private isStopping = false;

  constructor(private readonly credentials: CredentialWatch) {}

  get count(): number {
    return this.open().length;
  }

  /** Returns a function that removes the connection. */
  add(principal: Principal, connection: StreamConnection): () => void {
    this.connections.add(connection);
    if (this.isStopping) connection.end(shuttingDown(connection.cursor)); // its request arrived before the stop
    const unwatch = this.credentials.watch(principal, () => {
      if (connection.open) connection.end(credentialEnded(connection.cursor));
    });
    return () => {
      unwatch();
      this.connections.delete(connection);
    };
  }

  beat(): void {
    for (const connection of this.open()) connection.beat();
  }

  onModuleInit(): void {
    this.timer = setInterval(() => this.beat(), BEAT_EVERY_MS).unref();
  }

  /** Runs before the server stops, because the server waits for open connections. */
  onModuleDestroy(): void {
    clearInterval(this.timer);
    this.isStopping = true;
    for (const connection of this.open()) connection.end(shuttingDown(connection.cursor));
  }

  private open(): StreamConnection[] {
    return [...this.connections].filter((connection) => connection.open);
  }
}
