import { Inject, Injectable } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { ApiError } from '../http/problems/api.error.js';
import { replyProblem } from '../http/problems/problem.js';
import { bodyLimitOf, bodyTooLarge, leaseBodyLimitOf, type RouteKind } from '../http/server/routes.js';
import { CallerLimits } from '../limits/caller.limits.js';
import { AuthGuard } from './auth.guard.js';
import type { Permission } from './permissions.js';
import type { Principal } from './principal.js';
import { checkScope, type NamespaceScope } from './route.access.js';

/** The body of a rejected request is read if it is not longer than this, so that the connection can be reused. */
const DRAINED_BYTES = 1_024 * 1_024;

interface RouteLimits {
  access: Permission;
  scope: NamespaceScope;
  kind: RouteKind;
  bodyLimit: number;
  leaseLimit: number;
}

/**
 * Admits a request when its headers have arrived, before its body is parsed. It authenticates the caller and checks the
 * permission of the route, the length of the body, and the number of concurrent requests of the caller. It is synchronous
 * when the credential is cached and the request need not wait for its turn.
 */
@Injectable()
export class RouteAdmission {
  constructor(
    private readonly guard: AuthGuard,
    private readonly limits: CallerLimits,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Applies to all routes that are added later. */
  addTo(server: FastifyInstance): void {
    server.addHook('onRoute', (route) => {
      const { access = 'public', cost = 1, scope = 'one', body, kind = 'requests' } = route.config ?? {};
      const bodyLimit = bodyLimitOf(body, this.config.http);
      const leaseLimit = leaseBodyLimitOf(body, this.config.http);
      route.bodyLimit = bodyLimit;
      const admit =
        access === 'public' ? this.publicHook(cost) : this.hookFor({ access, scope, kind, bodyLimit, leaseLimit });
      route.onRequest = [route.onRequest ?? [], admit].flat();
    });
  }

  /** For public routes, and for handlers that declare no access: the guard rejects requests to these handlers. */
  private publicHook(cost: number): onRequestHookHandler {
    return (_request, reply, done) => {
      try {
        const turn = cost > 0 ? this.limits.admitPublic(reply, cost) : undefined;
        if (turn) return void startLater(turn, done);
      } catch (error) {
        return reject(reply, error);
      }
      done();
    };
  }

  private hookFor(limits: RouteLimits): onRequestHookHandler {
    return (request, reply, done) => {
      try {
        const principal = this.guard.authorize(request, limits.access);
        if (principal instanceof Promise) return void this.admitLater(principal, reply, limits, done);
        const turn = this.admit(principal, reply, limits);
        if (turn) return void startLater(turn, done);
      } catch (error) {
        return reject(reply, error);
      }
      done();
    };
  }

  private async admitLater(
    principal: Promise<Principal>,
    reply: FastifyReply,
    limits: RouteLimits,
    done: () => void,
  ): Promise<void> {
    try {
      await this.admit(await principal, reply, limits);
    } catch (error) {
      return reject(reply, error);
    }
    done();
  }

  /** Returns a promise if the request must wait for its turn. */
  private admit(
    principal: Principal,
    reply: FastifyReply,
    { scope, kind, bodyLimit, leaseLimit }: RouteLimits,
  ): Promise<void> | undefined {
    const { request } = reply;
    checkScope(scope, principal);
    if (principal.kind === 'lease') checkLength(request, leaseLimit, true);
    else checkLength(request, bodyLimit, false);
    request.principal = principal;
    return this.limits.hold(reply, principal, typeof kind === 'function' ? kind(request) : kind);
  }
}

async function startLater(turn: Promise<void>, done: () => void): Promise<void> {
  await turn;
  done();
}

function checkLength({ headers }: FastifyRequest, limit: number, isRequired: boolean): void {
  const length = headers['content-length'];
  if (length !== undefined && Number(length) > limit) throw bodyTooLarge(limit);
  if (isRequired && headers['transfer-encoding'] !== undefined)
    throw new ApiError('LENGTH_REQUIRED', 'With a lease token, send the body with a Content-Length, not chunked.');
}

/** Answers without parsing the body. If the body is long, it is not read, and the connection is closed. */
function reject(reply: FastifyReply, error: unknown): void {
  const { headers } = reply.request;
  const isLong = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > DRAINED_BYTES;
  if (isLong) void reply.header('connection', 'close');
  replyProblem(reply, error);
}
