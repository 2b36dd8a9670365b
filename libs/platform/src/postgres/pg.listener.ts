import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { type Client, escapeIdentifier } from 'pg';
import { BackgroundFaults } from '../lifecycle/background.faults.js';
import { StopsIn } from '../lifecycle/shutdown.js';
import { Loop } from '../work/loop.js';
import { Database } from './database.js';

type Handler = (payload: string) => void;

/** The name of the connection in `pg_stat_activity`. A replica has one listener. */
export const LISTENER_NAME = 'rollcall-listener';

/** How often the listener checks that its connection still works. */
const CHECK_EVERY_MS = 2_000;
const CLOSE_TIMEOUT_MS = 500;

/**
 * Receives notifications (LISTEN/NOTIFY) on its own connection and reconnects with a growing delay when the connection
 * breaks.
 *
 * Notifications that are sent while it is disconnected are lost. A notification is therefore only a hint: its receiver
 * must find the same information in the tables. `onConnected` handlers run after each connect, because notifications
 * may have been missed.
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
      pass: async () => await this.checkConnection(),
      everyMs: () => CHECK_EVERY_MS,
      onError: (error) => faults.report('events.listener', error),
    });
  }

  onApplicationBootstrap(): void {
    this.start();
  }

  /** Sets the handler of a channel. Each channel has one handler, which must be set before `start`. */
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
    if (client) await close(client);
  }

  private async checkConnection(): Promise<void> {
    const { client } = this;
    if (!client) return await this.connect();
    try {
      await client.query('SELECT 1');
    } catch (error) {
      this.disconnect(client);
      throw error;
    }
  }

  private async connect(): Promise<void> {
    const client = this.db.dedicatedClient(LISTENER_NAME);
    client.on('error', () => this.disconnect(client));
    client.on('end', () => this.disconnect(client));
    client.on('notification', ({ channel, payload }) => this.handlers.get(channel)?.(payload ?? ''));
    try {
      await client.connect();
      for (const channel of this.handlers.keys()) await client.query(`LISTEN ${escapeIdentifier(channel)}`);
    } catch (error) {
      destroySocket(client);
      throw error;
    }
    this.client = client;
    this.connectedHandlers.forEach((handler) => handler());
  }

  private disconnect(client: Client): void {
    destroySocket(client);
    if (this.client !== client) return;
    this.client = undefined;
    this.loop.wake();
  }
}

/** A frozen server does not respond to the termination message, so the wait is limited. */
async function close(client: Client): Promise<void> {
  await Promise.race([client.end(), delay(CLOSE_TIMEOUT_MS, undefined, { ref: false })]);
  destroySocket(client);
}

/** Closes the socket directly, because the driver cannot close a connection without contacting the server. */
function destroySocket(client: Client): void {
  (client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
}
