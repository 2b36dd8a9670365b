import { setTimeout as delay } from 'node:timers/promises';
import { ClientDelay } from './client-delay.js';
import { Crossing } from './crossing.js';
import type { FuzzServer } from './fuzz.server.js';
import type { FuzzCase, HttpCase, SocketCase } from './fuzz-case.js';
import type { CaseGenerator } from './generator.js';
import { codeOf, type Fault, isLate, judge, lateFault } from './oracle.js';
import type { Report } from './report.js';
import { type Exchange, send } from './sender.js';
import { runSession } from './socket.session.js';
import { toWire } from './wire.js';
import type { World } from './world.js';

export interface FuzzParts {
  server: FuzzServer;
  world: World;
  cases: CaseGenerator;
  report: Report;
}

interface Attempt {
  exchange: Exchange;
  late: boolean;
  /** The faults that count only if they repeat. */
  doubtful: Fault[];
}

const TRIES = 3;
const WAIT_MS = 8_000;
const LONG_POLL_MS = 300;
/** The log comes by another way than the answer. */
const LOG_ARRIVES_MS = 200;
const CONNECT_FAILED = 'ECONNREFUSED';

/** Sends cases, many at a time, and reports what is wrong with their answers. */
export class Fuzzer {
  sent = 0;
  /** Late at the first try, though not at each: a busy machine, or a neighbour's request. */
  lateOnce = 0;
  /** Answered with 503 at the first try. */
  unavailableOnce = 0;
  /** Without an answer at the first try, because we were still sending when the server closed. */
  brokenPipeOnce = 0;
  readonly statuses: Record<string, number> = {};
  /** Of the errors: they show how far requests get before they are refused. */
  readonly codes: Record<string, number> = {};
  /** Operations with the number of 2xx answers. */
  readonly succeeded = new Map<string, number>();
  /** The numbers of the cases that are being answered. */
  readonly inFlight = new Set<number>();
  readonly crossing = new Crossing();
  private readonly delay = new ClientDelay();

  constructor(private readonly parts: FuzzParts) {}

  /** Runs cases one after the other, until there are no more or the server is gone. */
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

  /** Sends a case. When the answer is late, 503 or lost it is sent again, alone: the machine may be busy. */
  async runCase(index: number): Promise<Exchange | undefined> {
    const fuzzCase = this.parts.cases.make(index);
    this.sent += 1;
    this.inFlight.add(index);
    const once = async (): Promise<Attempt> => await this.attempt(index, fuzzCase);
    try {
      let attempt = await this.crossing.together(once);
      this.lateOnce += attempt.late ? 1 : 0;
      for (const { kind } of attempt.doubtful) this[kind === 'no-answer' ? 'brokenPipeOnce' : 'unavailableOnce'] += 1;
      for (let again = 1; again < TRIES && isDoubtful(attempt); again++)
        attempt = await this.crossing.exclusively(once);
      const { exchange, late, doubtful } = attempt;
      for (const fault of [...doubtful, ...(late ? [lateFault(exchange)] : [])])
        await this.found(index, fuzzCase, attempt, fault);
      return exchange;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== CONNECT_FAILED) throw error;
      return undefined; // the server is gone, which is reported once
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
    if (fault.kind === 'server-error') await delay(LOG_ARRIVES_MS);
    const requestId = exchange.head?.headers.get('x-request-id');
    this.parts.report.add(index, fuzzCase, fault, this.parts.server.errorOf(requestId));
  }

  private async request(request: HttpCase) {
    const { server, world } = this.parts;
    const wire = toWire(request, `127.0.0.1:${server.port}`, world.values);
    const longPoll = /[?&]waitMs=(?!0(&|$))/.test(request.target);
    const exchange = await send(wire, {
      port: server.port,
      method: request.method,
      headOnly: request.streams,
      waitMs: longPoll ? LONG_POLL_MS : WAIT_MS,
    });
    const silent = wire.mayStaySilent || (longPoll && exchange.timedOut);
    world.notice(request.operation, exchange);
    const late = !silent && isLate(exchange, this.delay.ms);
    return { exchange, faults: judge(request, exchange, silent), late };
  }

  private async session(socketCase: SocketCase) {
    const { server, world } = this.parts;
    const { exchange, faults, late } = await runSession(socketCase, server.port, world.values);
    return { exchange, faults, late: late && isLate(exchange, this.delay.ms) };
  }

  private count({ operation }: FuzzCase, { head, body }: Exchange): void {
    const status = head ? `${Math.floor(head.status / 100)}xx` : 'none';
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
    const code = head && head.status >= 400 ? (codeOf(body) ?? 'without a code') : undefined;
    if (code !== undefined) this.codes[code] = (this.codes[code] ?? 0) + 1;
    if (status === '2xx' || head?.status === 101)
      this.succeeded.set(operation, (this.succeeded.get(operation) ?? 0) + 1);
  }
}

/** A 503, or an answer that our own client lost. */
function mayPass({ kind, detail }: Fault, { brokenPipe = false }: Exchange): boolean {
  return detail.startsWith('503 ') || (kind === 'no-answer' && brokenPipe);
}

function isDoubtful({ late, doubtful }: Attempt): boolean {
  return late || doubtful.length > 0;
}
