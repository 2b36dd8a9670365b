import { type BeatResult, DatabaseUnavailableError, type LeasePolicy } from '#rollcall/registry';
import type { AgentSocket } from './agent.socket.js';

/** Well within a lease, which lasts three intervals at least. */
const SHARE_OF_INTERVAL = 0.5;

const REASON = {
  code: 'DATABASE_UNAVAILABLE',
  detail: 'This replica does not reach its database, so it cannot record your beats. Connect again; another one may.',
};

/**
 * Sends agents to other replicas when this replica cannot record their beats: otherwise they would stay connected here until
 * another replica evicts them. The sockets close at random moments, so that agents do not reconnect all at once, and a beat
 * that is recorded meanwhile spares the rest.
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
    const withinMs = this.lease.intervalMs * SHARE_OF_INTERVAL;
    for (const socket of this.sockets()) {
      const close = (): void => {
        if (!run.signal.aborted && socket.open) socket.end(REASON);
      };
      setTimeout(close, Math.random() * withinMs).unref();
    }
    setTimeout(() => this.running === run && this.stop(), withinMs).unref();
  }

  private stop(): void {
    this.running?.abort();
    this.running = undefined;
  }
}
