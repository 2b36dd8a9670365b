import { setTimeout as delay } from 'node:timers/promises';
import { ClientDelay } from './client-delay.js';
import { SharedLock } from './shared.lock.js';
import type { FuzzServer } from './fuzz.server.js';
import type { FuzzCase, HttpCase, SocketCase } from './fuzz-case.js';
import type { CaseGenerator } from './generator.js';
import { codeOf, type Fault, hasSucceeded, isLate, judge, lateFault } from './oracle.js';
import type { Report } from './report.js';
import { type Exchange, send } from './sender.js';
import { runSession } from './socket.session.js';
import { toWire } from './wire.js';
import type { Fixtures } from './fixtures.js';

export interface FuzzParts {
  server: FuzzServer;
  fixtures: Fixtures;
  cases: CaseGenerator;
  report: Report;
}

interface Attempt {
  exchange: Exchange;
  late: boolean;
  /** Faults that count only if they repeat. */
  doubtful: Fault[];
}

const TRIES = 3;
const WAIT_MS = 8_000;
const LONG_POLL_MS = 300;
/** The wait for the log line of a request, which may arrive after the response. */
const LOG_DELAY_MS = 200;
const CONNECT_FAILED = 'ECONNREFUSED';

/** Sends many cases concurrently, and reports faults of their responses. */
export class Fuzzer {
  sent = 0;
  /** Late at the first try only: the machine was busy, or another request was slow. */
  lateOnce = 0;
  /** Answered with 503 at the first try. */
  unavailableOnce = 0;
  /** Without a response at the first try, because the server closed the connection while the client was sending. */
  brokenPipeOnce = 0;
  readonly statuses: Record<string, number> = {};
  /** How often each error code was returned. The codes show where requests are rejected. */
  readonly codes: Record<string, number> = {};
  /** The number of 2xx responses of each operation. */
  readonly succeeded = new Map<string, number>();
  /** The indexes of the cases in progress. */
  readonly inFlight = new Set<number>();
  readonly lock = new SharedLock();
  private readonly delay = new ClientDelay();

  constructor(private readonly parts: FuzzParts) {}

  /** Runs cases one after the other until there are no more or the server has ended. */
  async work(next: () => number | undefined): Promise<void> {
    for (let index = next(); index !== undefined; index = next()) {
      await this.runCase(index);
      if (this.parts.server.exited !== undefined) return;
      this.inFlight.delete(index);
    }
  }

  stop(): void {
    this.delay.stop();
  }

  /** Sends a case. If the response is late, 503 or lost, the case is sent again, alone: the machine may be busy. */
  async runCase(index: number): Promise<Exchange | undefined> {
    const fuzzCase = this.parts.cases.make(index);
    this.sent += 1;
    this.inFlight.add(index);
    const once = async (): Promise<Attempt> => await this.attempt(index, fuzzCase);
    try {
      let attempt = await this.lock.shared(once);
      this.lateOnce += attempt.late ? 1 : 0;
      for (const { kind } of attempt.doubtful) this[kind === 'no-answer' ? 'brokenPipeOnce' : 'unavailableOnce'] += 1;
      for (let again = 1; again < TRIES && isDoubtful(attempt); again++) attempt = await this.lock.exclusive(once);
      const { exchange, late, doubtful } = attempt;
      for (const fault of [...doubtful, ...(late ? [lateFault(exchange)] : [])])
        await this.found(index, fuzzCase, attempt, fault);
      return exchange;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== CONNECT_FAILED) throw error;
      return undefined; // the server has ended, which is reported once
    }
  }

  private async attempt(index: number, fuzzCase: FuzzCase): Promise<Attempt> {
    const result = fuzzCase.kind === 'http' ? await this.request(fuzzCase) : await this.session(fuzzCase);
    this.count(fuzzCase, result.exchange);
    const doubtful = result.faults.filter((fault) => mayPass(fault, result.exchange));
    const attempt = { ...result, doubtful };
    for (const fault of result.faults.filter((one) => !doubtful.includes(one)))
      await this.found(index, fuzzCase, attempt, fault);
    return attempt;
  }

  private async found(index: number, fuzzCase: FuzzCase, { exchange }: Attempt, fault: Fault): Promise<void> {
    if (fault.kind === 'server-error') await delay(LOG_DELAY_MS);
    const requestId = exchange.head?.headers.get('x-request-id');
    this.parts.report.add(index, fuzzCase, fault, this.parts.server.errorOf(requestId));
  }

  private async request(request: HttpCase) {
    const { server, fixtures } = this.parts;
    const wire = toWire(request, `127.0.0.1:${server.port}`, fixtures.values);
    const longPoll = /[?&]waitMs=(?!0(&|$))/.test(request.target);
    const exchange = await send(wire, {
      port: server.port,
      method: request.method,
      headOnly: request.streams,
      waitMs: longPoll ? LONG_POLL_MS : WAIT_MS,
    });
    const silent = wire.mayStaySilent || (longPoll && exchange.timedOut);
    fixtures.record(request.operation, exchange);
    const late = !silent && isLate(exchange, this.delay.ms);
    return { exchange, faults: judge(request, exchange, silent), late };
  }

  private async session(socketCase: SocketCase) {
    const { server, fixtures } = this.parts;
    const { exchange, faults, late } = await runSession(socketCase, server.port, fixtures.values);
    return { exchange, faults, late: late && isLate(exchange, this.delay.ms) };
  }

  private count(fuzzCase: FuzzCase, exchange: Exchange): void {
    const { head, body } = exchange;
    const { operation } = fuzzCase;
    const status = head ? `${Math.floor(head.status / 100)}xx` : 'none';
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
    const code = head && head.status >= 400 ? (codeOf(body) ?? 'without a code') : undefined;
    if (code !== undefined) this.codes[code] = (this.codes[code] ?? 0) + 1;
    if (hasSucceeded(fuzzCase, exchange)) this.succeeded.set(operation, (this.succeeded.get(operation) ?? 0) + 1);
  }
}

/** A 503, or a response that this client lost. */
function mayPass({ kind, detail }: Fault, { brokenPipe = false }: Exchange): boolean {
  return /^503\b/.test(detail) || (kind === 'no-answer' && brokenPipe);
}

function isDoubtful({ late, doubtful }: Attempt): boolean {
  return late || doubtful.length > 0;
}
