import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { escapeIdentifier, type Client } from 'pg';
import { BackgroundFaults } from '../lifecycle/background.faults.js';
import { StopsIn } from '../lifecycle/shutdown.order.js';
import { Loop } from '../loop.js';
import { Database } from './database.js';

type Handler = (payload: string) => void;

/** How often a quiet connection is asked whether it still lives. */
const CHECK_EVERY_MS = 2_000;
const GOODBYE_MS = 500;

/**
 * Receives notifications (LISTEN/NOTIFY) on a connection of its own and reconnects with a growing delay when it breaks.
 *
 * Notifications sent meanwhile are lost, so a notification is a hint and never the only carrier of a fact: `onConnected`
 * reports that some may have been missed, and `connected` whether they arrive now.
 */
@Injectable()
export class PgListener implements OnApplicationBootstrap {
  private readonly handlers = new Map<string, Handler>();
  private readonly connectedHandlers: (() => void)[] = [];
  private readonly loop: Loop;
  private client?: Client;

  constructor(
    private readonly db: Database,
    faults: BackgroundFaults,
  ) {
    this.loop = new Loop({
      pass: async () => await this.keep(),
      everyMs: () => CHECK_EVERY_MS,
      onError: (error) => faults.report('events.listener', error),
    });
  }

  onApplicationBootstrap(): void {
    this.start();
  }

  /** Before `start`. One handler for each channel. */
  on(channel: string, handler: Handler): void {
    this.handlers.set(channel, handler);
  }

  onConnected(handler: () => void): void {
    this.connectedHandlers.push(handler);
  }

  get connected(): boolean {
    return this.client !== undefined;
  }

  start(): void {
    this.loop.start();
  }

  @StopsIn('feed')
  async stop(): Promise<void> {
    await this.loop.stop();
    const { client } = this;
    this.client = undefined;
    if (client) await leave(client);
  }

  private async keep(): Promise<void> {
    const { client } = this;
    if (!client) return await this.connect();
    try {
      await client.query('SELECT 1');
    } catch (error) {
      this.lose(client);
      throw error;
    }
  }

  private async connect(): Promise<void> {
    const client = this.db.dedicatedClient('rollcall-listener');
    client.on('error', () => this.lose(client));
    client.on('end', () => this.lose(client));
    client.on('notification', ({ channel, payload }) => this.handlers.get(channel)?.(payload ?? ''));
    try {
      await client.connect();
      for (const channel of this.handlers.keys()) await client.query(`LISTEN ${escapeIdentifier(channel)}`);
    } catch (error) {
      cut(client);
      throw error;
    }
    this.client = client;
    this.connectedHandlers.forEach((handler) => handler());
  }

  private lose(client: Client): void {
    cut(client);
    if (this.client !== client) return;
    this.client = undefined;
    this.loop.wake();
  }
}

/** A frozen server does not answer a goodbye. */
async function leave(client: Client): Promise<void> {
  await Promise.race([client.end(), delay(GOODBYE_MS, undefined, { ref: false })]);
  cut(client);
}

/** The driver has no way to drop a connection without asking the server; its socket has. */
function cut(client: Client): void {
  (client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
}
