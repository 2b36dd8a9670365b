import { Inject, Injectable } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import { CONFIG } from '../config/config.token.js';
import type { Config } from '../config/config.schema.js';
import { ApiError } from '../http/api.error.js';
import { ConcurrencyLimiter } from '../http/concurrency.limiter.js';
import { replyProblem } from '../http/problem.reply.js';
import { holdPlace } from '../http/request.places.js';
import { bodyLimitOf, bodyTooLarge, LEASE_BODY_LIMIT, type RequestKind } from '../http/route.limits.js';
import { AuthGuard } from './auth.guard.js';
import type { Permission } from './permissions.js';
import type { Principal } from './principal.js';
import { UnprovenRequests } from './unproven.requests.js';

/** The rest of a body that is refused is read up to this size, so that the connection can be used again. */
const DRAINED_BYTES = 1_024 * 1_024;

interface RouteLimits {
  access: Permission;
  kind: RequestKind;
  bodyLimit: number;
}

/**
 * Decides about a request when its headers have arrived, before its body is parsed: who sent it, whether that caller may use
 * the route, how large the body may be, and whether the caller has a place left. It answers at once, without a promise, when
 * the credential was seen lately.
 */
@Injectable()
export class RouteAdmission {
  constructor(
    private readonly guard: AuthGuard,
    private readonly limiter: ConcurrencyLimiter,
    private readonly unproven: UnprovenRequests,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** For all routes that are added after this. */
  addTo(server: FastifyInstance): void {
    server.addHook('onRoute', (route) => {
      const { access = 'public', body, kind = 'requests' } = route.config ?? {};
      const bodyLimit = bodyLimitOf(body, this.config.http);
      route.bodyLimit = bodyLimit;
      const admit = access === 'public' ? this.publicHook() : this.hookFor({ access, kind, bodyLimit });
      route.onRequest = [route.onRequest ?? [], admit].flat();
    });
  }

  /** A handler that declares no access is refused by the guard. */
  private publicHook(): onRequestHookHandler {
    return (_request, reply, done) => {
      try {
        this.unproven.hold(reply);
      } catch (error) {
        return refuse(reply, error);
      }
      done();
    };
  }

  private hookFor(limits: RouteLimits): onRequestHookHandler {
    return (request, reply, done) => {
      try {
        const principal = this.guard.enter(request, limits.access);
        if (principal instanceof Promise) return void this.admitLater(principal, reply, limits, done);
        this.admit(principal, reply, limits);
      } catch (error) {
        return refuse(reply, error);
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
      this.admit(await principal, reply, limits);
    } catch (error) {
      return refuse(reply, error);
    }
    done();
  }

  private admit(principal: Principal, reply: FastifyReply, { kind, bodyLimit }: RouteLimits): void {
    const { request } = reply;
    if (principal.kind === 'lease') checkLength(request, Math.min(LEASE_BODY_LIMIT, bodyLimit), true);
    else checkLength(request, bodyLimit, false);
    holdPlace(reply, this.limiter, principal, kind);
    request.principal = principal;
  }
}

function checkLength({ headers }: FastifyRequest, limit: number, isRequired: boolean): void {
  const length = headers['content-length'];
  if (length !== undefined && Number(length) > limit) throw bodyTooLarge(limit);
  if (isRequired && headers['transfer-encoding'] !== undefined)
    throw new ApiError('LENGTH_REQUIRED', 'With a lease token, send the body with a Content-Length and not in chunks.');
}

/** The body is not parsed. A long one is not read either. */
function refuse(reply: FastifyReply, error: unknown): void {
  const { headers } = reply.request;
  const isLong = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > DRAINED_BYTES;
  if (isLong) void reply.header('connection', 'close');
  replyProblem(reply, error);
}
