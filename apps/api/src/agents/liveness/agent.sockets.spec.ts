import { mock } from 'node:test';
import { DatabaseBusyError, DatabaseUnavailableError } from '#rollcall/platform';
import { DEFAULT_LEASE_POLICY } from '#rollcall/registry';
import { SocketEvacuation } from './agent.sockets.js';

const UNAVAILABLE = { ok: false, error: new DatabaseUnavailableError('cut') } as const;
const BUSY = { ok: false, error: new DatabaseBusyError('locked') } as const;
const RECORDED = { ok: true, beatAt: 0 } as const;
const INTERVAL_MS = DEFAULT_LEASE_POLICY.intervalMs;
const STEP_MS = 100;

class FakeSocket {
  open = true;
  end(): void {
    this.open = false;
  }
}

let sockets: FakeSocket[];
let evacuation: SocketEvacuation;

beforeEach(() => {
  mock.timers.enable();
  sockets = Array.from({ length: 1_000 }, () => new FakeSocket());
  evacuation = new SocketEvacuation(() => sockets, DEFAULT_LEASE_POLICY);
});
afterEach(() => mock.timers.reset());

/** Advances the time in steps, because a timer that starts during a step of the mock begins at the end of that step. */
function advance(ms: number): void {
  for (let passed = 0; passed < ms; passed += STEP_MS) mock.timers.tick(STEP_MS);
}

const open = (): number => sockets.filter((socket) => socket.open).length;

describe('evacuation of agent sockets', () => {
  it('D3 closes every socket within one heartbeat interval, and not all at the same time', () => {
    evacuation.onBeat(UNAVAILABLE);
    advance(INTERVAL_MS / 2);
    expect(open()).toBeGreaterThan(300);
    expect(open()).toBeLessThan(700);
    advance(INTERVAL_MS / 2);
    expect(open()).toBe(0);
  });

  it('D3 closes every socket also when the event loop is blocked after a failed heartbeat', () => {
    evacuation.onBeat(UNAVAILABLE);
    mock.timers.tick(INTERVAL_MS * 0.7); // the first timer of the evacuation fires late
    advance(INTERVAL_MS);
    expect(open()).toBe(0);
  });

  it('D3 closes no socket when a heartbeat is recorded soon after a failed one', () => {
    evacuation.onBeat(UNAVAILABLE);
    advance(INTERVAL_MS / 5);
    evacuation.onBeat(RECORDED);
    advance(INTERVAL_MS);
    expect(open()).toBe(1_000);
  });

  it('D3 keeps the remaining sockets when a heartbeat is recorded again', () => {
    evacuation.onBeat(UNAVAILABLE);
    advance(INTERVAL_MS / 2);
    const remaining = open();
    evacuation.onBeat(RECORDED);
    advance(INTERVAL_MS);
    expect(open()).toBe(remaining);
  });

  it('D3 evacuates sockets that were opened after the first evacuation began', () => {
    evacuation.onBeat(UNAVAILABLE);
    advance(INTERVAL_MS);
    sockets.push(new FakeSocket());
    evacuation.onBeat(UNAVAILABLE);
    advance(INTERVAL_MS);
    expect(open()).toBe(0);
  });

  it('D3 keeps the sockets when the database is only busy', () => {
    evacuation.onBeat(BUSY);
    advance(INTERVAL_MS);
    expect(open()).toBe(1_000);
  });
});
