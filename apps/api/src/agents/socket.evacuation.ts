import { DatabaseUnavailableError } from '#rollcall/platform';
import { type BeatResult, type LeasePolicy } from '#rollcall/registry';
import type { AgentSocket } from './agent.socket.js';

/** Shares of the interval: both are well within a lease, which lasts three intervals at least. */
const PATIENCE = 0.25;
const SPREAD = 0.5;

const REASON = {
  code: 'DATABASE_UNAVAILABLE',
  detail: 'This replica does not reach its database, so it cannot record your beats. Connect again; another one may.',
};

/**
 * Sends agents to other replicas when this replica cannot record their beats: otherwise they would stay connected here until
 * another replica evicts them. The sockets close at random moments, so that agents do not reconnect all at once. A beat that is
 * recorded meanwhile calls it off: a database that is slow or that dropped a connection would only get more work from agents
 * that reconnect.
 */
export class SocketEvacuation {
  private running?: AbortController;

  constructor(
    private readonly sockets: () => Pick<AgentSocket, 'open' | 'end'>[],
    private readonly lease: LeasePolicy,
  ) {}

  /** Called for each beat: decides whether agents have to leave, or may stay. */
  onBeat(result: BeatResult): void {
    if (result.ok) this.stop();
    else if (result.error instanceof DatabaseUnavailableError) this.start();
  }

  private start(): void {
    if (this.running) return;
    const run = new AbortController();
    this.running = run;
    const { intervalMs } = this.lease;
    const later = (share: number, act: () => void): void => {
      setTimeout(() => !run.signal.aborted && act(), share * intervalMs).unref();
    };
    later(PATIENCE, () => {
      for (const socket of this.sockets()) later(Math.random() * SPREAD, () => socket.open && socket.end(REASON));
    });
    later(PATIENCE + SPREAD, () => this.stop());
  }

  private stop(): void {
    this.running?.abort();
    this.running = undefined;
  }
}
