import { DatabaseUnavailableError } from '#rollcall/platform';
import { type BeatResult, type LeasePolicy } from '#rollcall/registry';
import type { AgentSocket } from './agent.socket.js';

/** Fractions of the heartbeat interval. Both are much shorter than a lease, which lasts at least three intervals. */
const CLOSE_DELAY = 0.25;
const CLOSE_SPREAD = 0.5;

const REASON = {
  code: 'DATABASE_UNAVAILABLE',
  detail:
    'This replica cannot reach its database, so it cannot record your heartbeats. Connect again to reach another replica.',
};

/**
 * Closes the sockets of agents when this replica cannot record their heartbeats: otherwise the agents would stay connected here
 * until another replica evicts them. The sockets close at random times, so that agents do not reconnect all at the same time. A
 * recorded heartbeat stops the evacuation: the database works again, and reconnecting agents would only add load.
 */
export class SocketEvacuation {
  private running?: AbortController;

  constructor(
    private readonly sockets: () => Pick<AgentSocket, 'open' | 'end'>[],
    private readonly lease: LeasePolicy,
  ) {}

  /** Call this with the result of each heartbeat. */
  onBeat(result: BeatResult): void {
    if (result.ok) this.stop();
    else if (result.error instanceof DatabaseUnavailableError) this.start();
  }

  private start(): void {
    if (this.running) return;
    const run = new AbortController();
    this.running = run;
    const { intervalMs } = this.lease;
    const later = (fraction: number, act: () => void): void => {
      setTimeout(() => !run.signal.aborted && act(), fraction * intervalMs).unref();
    };
    later(CLOSE_DELAY, () => {
      for (const socket of this.sockets()) later(Math.random() * CLOSE_SPREAD, () => socket.open && socket.end(REASON));
    });
    later(CLOSE_DELAY + CLOSE_SPREAD, () => this.stop());
  }

  private stop(): void {
    this.running?.abort();
    this.running = undefined;
  }
}
