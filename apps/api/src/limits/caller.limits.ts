import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { NamespaceCatalog } from '#rollcall/platform';
import type { Principal } from '../auth/principal.js';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { ApiError } from '../http/problems/api.error.js';
import type { RequestKind } from '../http/server/routes.js';
import { type ConcurrentCaller, ConcurrencyLimiter, holdSlot } from './concurrency.limiter.js';
import { FairTurns } from './fair.turns.js';
import { type RateLimited, RateLimiter } from './rate.limiter.js';

/** The group of all requests to public routes. No namespace has this name. */
const PUBLIC = '';
/** How many unknown credentials one address may send in a second. */
const FAILURES_PER_SECOND = 100;

const tooFast =
  (advice: string) =>
  (perSecond: number): string =>
    `More than ${perSecond} requests arrived in one second. Send fewer, or ${advice}.`;

/**
 * All limits of this replica on what its callers send: the rate of a credential and of a namespace, the concurrent requests of a
 * credential, and, by address, requests to public routes and what clients send that are not authenticated yet. Of the latter, only
 * failed look-ups of credentials count against a rate, so a fleet behind one address may reconnect at the same time.
 */
@Injectable()
export class CallerLimits {
  private readonly credentialRate = new RateLimiter(tooFast('ask the operator to raise ROLLCALL_RATE_LIMIT'));
  private readonly namespaceRate = new RateLimiter(
    tooFast('ask an administrator of all namespaces to raise requestsPerSecond of this namespace'),
  );
  private readonly failureRate = new RateLimiter(
    () => 'Your address has sent too many unknown credentials. Try again later.',
  );
  private readonly publicRate = new RateLimiter(
    tooFast('send a credential to a route that requires one, or ask the operator to raise ROLLCALL_PUBLIC_RATE_LIMIT'),
  );
  private readonly callers: ConcurrencyLimiter;
  private readonly addresses: ConcurrencyLimiter;
  private readonly perSecond: number;
  private readonly publicPerSecond: number;

  constructor(
    @Inject(CONFIG) { http }: Config,
    private readonly namespaces: NamespaceCatalog,
    private readonly turns: FairTurns,
  ) {
    const { concurrentRequests: requests, concurrentStreams: streams, concurrentWaits: waits } = http;
    const unauthenticated = http.concurrentUnauthenticated;
    this.perSecond = http.rateLimit;
    this.publicPerSecond = http.publicRateLimit;
    this.callers = new ConcurrencyLimiter({ requests, streams, waits });
    this.addresses = new ConcurrencyLimiter({
      requests: unauthenticated,
      streams: unauthenticated,
      waits: unauthenticated,
    });
  }

  /** Counts one request, or one message on a socket, of a credential and of its namespace. */
  countRequest(principal: Principal): void {
    this.countCredential(principal);
    if (principal.kind === 'lease') return; // other callers must not be able to block heartbeats
    const { requestsPerSecond } = this.namespaces.limitsOf(principal.namespace);
    this.namespaceRate.count({ id: principal.namespace }, requestsPerSecond);
  }

  /** Counts one request of a credential whose namespace is not known yet. */
  countCredential(credential: RateLimited): void {
    this.credentialRate.count(credential, this.perSecond);
  }

  /** Looks up the credential of a client that is not authenticated yet. */
  async lookUp<Result>(address: string, find: () => Promise<Result>): Promise<Result> {
    this.failureRate.check(address, FAILURES_PER_SECOND);
    const slots = this.addresses.acquire({ id: address }, 'requests');
    try {
      return await find();
    } catch (error) {
      if (error instanceof ApiError && error.code === 'UNAUTHENTICATED') this.failureRate.add({ id: address });
      throw error;
    } finally {
      slots.requests -= 1;
    }
  }

  /** Holds a slot of the caller until the response is sent. Returns a promise if the request must wait for its turn. */
  hold(reply: FastifyReply, principal: Principal, kind: RequestKind): Promise<void> | undefined {
    const { namespace } = principal;
    if (kind === 'requests' && principal.kind !== 'lease')
      return this.takeTurn(reply, this.callers, principal, namespace);
    this.turns.note(namespace); // heartbeats must not wait, and streams take long
    holdSlot(reply, this.callers, principal, kind);
    return undefined;
  }

  /**
   * Counts a request to a public route as `cost` requests, and holds a slot of its address until the response is sent. Returns a promise
   * if the request must wait for its turn.
   */
  admitPublic(reply: FastifyReply, cost: number): Promise<void> | undefined {
    this.publicRate.count({ id: reply.request.ip }, this.publicPerSecond, cost);
    return this.takeTurn(reply, this.addresses, { id: reply.request.ip }, PUBLIC);
  }

  private takeTurn(
    reply: FastifyReply,
    limiter: ConcurrencyLimiter,
    caller: ConcurrentCaller,
    group: string,
  ): Promise<void> | undefined {
    const held = { hasTurn: true, isReleased: false };
    holdSlot(reply, limiter, caller, 'requests', () => {
      held.isReleased = true;
      if (held.hasTurn) this.turns.end(group);
    });
    const turn = this.turns.begin(group);
    return turn && this.waitForTurn(turn, held, group);
  }

  private async waitForTurn(
    turn: Promise<void>,
    held: { hasTurn: boolean; readonly isReleased: boolean },
    group: string,
  ): Promise<void> {
    held.hasTurn = false;
    await turn;
    held.hasTurn = true;
    if (held.isReleased) this.turns.end(group); // the client closed the connection while the request waited
  }

  /** Takes a slot for a WebSocket. Returns a function that releases it. */
  openSocket(principal: Principal): () => void {
    const slots = this.callers.acquire(principal, 'streams');
    return () => (slots.streams -= 1);
  }
}
