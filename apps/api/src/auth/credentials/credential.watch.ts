import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { BackgroundFaults, KeysService, Loop, SessionsService, StopsIn } from '#rollcall/platform';
import type { Principal } from '../principal.js';
import { Authenticator } from './authenticator.js';

const CHECK_EVERY_MS = 1_000;

interface Watched {
  principal: Principal;
  onEnd: () => void;
}

/**
 * Closes the connections of a credential that is no longer valid: immediately when it is revoked on this replica, within two
 * seconds when it is revoked on another replica or expires. While the database is unavailable, connections stay open.
 */
@Injectable()
export class CredentialWatch implements OnApplicationBootstrap {
  private readonly watched = new Set<Watched>();
  private readonly loop = new Loop({
    pass: async () => await this.check(),
    everyMs: () => CHECK_EVERY_MS,
    onError: (error) => this.faults.report('auth.watch', error),
  });

  constructor(
    private readonly authenticator: Authenticator,
    private readonly faults: BackgroundFaults,
    keys: KeysService,
    sessions: SessionsService,
  ) {
    keys.onChange(() => this.loop.wake());
    sessions.onEnd(() => this.loop.wake());
  }

  /** Returns a function that stops watching. */
  watch(principal: Principal, onEnd: () => void): () => void {
    const entry = { principal, onEnd };
    this.watched.add(entry);
    return () => this.watched.delete(entry);
  }

  async check(): Promise<{ ended: number }> {
    const entries = [...this.watched];
    if (entries.length === 0) return { ended: 0 };
    const valid = await this.authenticator.filterValid(entries.map(({ principal }) => principal));
    const ended = entries.filter(({ principal }) => !valid.has(principal));
    for (const entry of ended) {
      this.watched.delete(entry);
      entry.onEnd();
    }
    return { ended: ended.length };
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  @StopsIn('background')
  async stop(): Promise<void> {
    await this.loop.stop();
  }
}
