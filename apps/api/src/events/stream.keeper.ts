import { Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { CredentialWatch } from '../auth/credential.watch.js';
import type { Principal } from '../auth/principal.js';
import { credentialEnded, shuttingDown, type StreamEnd } from './stream.end.js';

export interface KeptConnection {
  /** Until one side has said goodbye. */
  readonly open: boolean;
  /** Undefined before the first subscription. */
  readonly cursor: string | undefined;
  /** A sign of life, and a look for one. */
  beat(): void;
  end(reason: StreamEnd): void;
}

const BEAT_EVERY_MS = 15_000;

/** Keeps the connections that stay open: beats for all, and ends them with their credential or with the process. */
@Injectable()
export class StreamKeeper implements OnModuleInit, OnModuleDestroy {
  private readonly kept = new Set<KeptConnection>();
  private timer?: NodeJS.Timeout;

  constructor(private readonly credentials: CredentialWatch) {}

  get count(): number {
    return this.open().length;
  }

  /** Answers how to let go of it. */
  keep(principal: Principal, connection: KeptConnection): () => void {
    this.kept.add(connection);
    const unwatch = this.credentials.watch(principal, () => {
      if (connection.open) connection.end(credentialEnded(connection.cursor));
    });
    return () => {
      unwatch();
      this.kept.delete(connection);
    };
  }

  beat(): void {
    for (const connection of this.open()) connection.beat();
  }

  onModuleInit(): void {
    this.timer = setInterval(() => this.beat(), BEAT_EVERY_MS).unref();
  }

  /** Before the server stops, or it would wait for them. */
  onModuleDestroy(): void {
    clearInterval(this.timer);
    for (const connection of this.open()) connection.end(shuttingDown(connection.cursor));
  }

  private open(): KeptConnection[] {
    return [...this.kept].filter((connection) => connection.open);
  }
}
