import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { ALL_NAMESPACES, Database } from '#rollcall/platform';
import { AuditService } from '../audit/audit.service.js';
import { IdempotencyService, type OnceResult } from '../idempotency/idempotency.service.js';
import { Effect } from './effect.js';
import { callerOf, type Principal } from '../auth/principal.js';

export const MUTATION = 'rollcall:mutation';

export interface MutationOptions {
  /** The name of the action in the audit log; null for frequent actions of agents and callers, which are not audited. */
  audit: string | null;
  /** The handler runs before the transaction opens and returns an `Effect`, which runs in the transaction. */
  prepares?: true;
  /** With `prepares`: the preparation changes something, so a repetition with the same Idempotency-Key must not run it again. */
  checksKeyFirst?: true;
  /** The route is executed each time, and an Idempotency-Key has no effect. */
  repeatable?: true;
  /** Actions of this kind of principal are not audited, such as those of agents with their lease tokens. */
  unlessBy?: Principal['kind'];
  /** The fields of the body that the audit log contains. Other fields are not recorded. */
  record?: string[];
  /** Returns the error to send instead of this result. Unlike an error that the handler throws, it is audited and stored like a result. */
  failureOf?: (result: unknown, request: FastifyRequest) => Error | undefined;
  /** Fields of the response that the audit log contains, with their names in the audit log. */
  recordResult?: Record<string, string>;
}

/** Commits the effect of a route, its audit record and its stored response in one transaction. */
@Injectable()
export class MutationInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly db: Database,
    private readonly audit: AuditService,
    private readonly idempotency: IdempotencyService,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const declared = this.reflector.get<MutationOptions>(MUTATION, context.getHandler());
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const options = forCaller(declared, request);
    if (!options.prepares && !needsTransaction(options, request)) return next.handle();
    return from(this.mutate(options, context, next));
  }

  private async mutate(options: MutationOptions, context: ExecutionContext, next: CallHandler): Promise<unknown> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    const handle = async (): Promise<unknown> => await lastValueFrom(next.handle(), { defaultValue: undefined });
    const known = options.checksKeyFirst && (await this.stored(request, reply));
    if (known) return succeeded(options, request, known.response);
    const effect = options.prepares ? await prepare(handle, request) : new Effect(handle);
    let hasRun = false;
    const run = async (): Promise<unknown> => {
      hasRun = true;
      return await effect.run();
    };
    try {
      const result = await this.commit(options, request, reply, run);
      if (!hasRun) await effect.discard();
      return succeeded(options, request, result);
    } catch (error) {
      await effect.discard();
      throw error;
    }
  }

  private async commit(
    options: MutationOptions,
    request: FastifyRequest,
    reply: FastifyReply,
    run: () => Promise<unknown>,
  ): Promise<unknown> {
    if (!needsTransaction(options, request)) return await run();
    const act = async (): Promise<unknown> => await this.act(options, request, run);
    const key = request.headers['idempotency-key'];
    if (key === undefined) return await this.db.transaction(act);
    return await this.once(String(key), request, reply, act);
  }

  private async stored(request: FastifyRequest, reply: FastifyReply): Promise<OnceResult | undefined> {
    const key = request.headers['idempotency-key'];
    if (key === undefined) return undefined;
    const stored = await this.idempotency.stored(String(key), request);
    if (stored) void reply.header('idempotency-replayed', 'true');
    return stored;
  }

  private async act(
    options: MutationOptions,
    request: FastifyRequest,
    effect: () => Promise<unknown>,
  ): Promise<unknown> {
    const result = await effect();
    if (options.audit !== null) {
      const details = { ...pick(request.body, options.record), ...rename(result, options.recordResult) };
      const target = { id: targetOf(request, result), namespace: namespaceOf(request, result) };
      await this.audit.record(options.audit, target, details);
    }
    return result;
  }

  private async once(
    key: string,
    request: FastifyRequest,
    reply: FastifyReply,
    act: () => Promise<unknown>,
  ): Promise<unknown> {
    const { response, replayed } = await this.idempotency.once(key, request, act);
    if (replayed) void reply.header('idempotency-replayed', 'true');
    return response;
  }
}

function succeeded({ failureOf }: MutationOptions, request: FastifyRequest, result: unknown): unknown {
  const failure = failureOf?.(result, request);
  if (failure) throw failure;
  return result;
}

/**
 * With an Idempotency-Key, a failed preparation does not throw immediately, because a repeated request must get the stored response.
 * The effect throws the error instead.
 */
async function prepare(handle: () => Promise<unknown>, { headers }: FastifyRequest): Promise<Effect<unknown>> {
  try {
    return (await handle()) as Effect<unknown>;
  } catch (error) {
    if (headers['idempotency-key'] === undefined) throw error;
    return new Effect(async () => await Promise.reject(error));
  }
}

function needsTransaction({ audit }: MutationOptions, { headers }: FastifyRequest): boolean {
  return audit !== null || headers['idempotency-key'] !== undefined;
}

function forCaller(options: MutationOptions, request: FastifyRequest): MutationOptions {
  return options.unlessBy === callerOf(request).kind ? { ...options, audit: null } : options;
}

function targetOf(request: FastifyRequest, result: unknown): string | null {
  const { id, name } = request.params as { id?: string; name?: string };
  const made = result as { id?: string; name?: string } | undefined;
  return id ?? name ?? made?.id ?? made?.name ?? null;
}

/** The namespace that the action concerns. The namespace of a key, budget or webhook may differ from the namespace of the request. */
function namespaceOf(request: FastifyRequest, result: unknown): string {
  if (request.routeOptions.config.scope === 'installation') return ALL_NAMESPACES;
  const { namespace } = (result ?? {}) as { namespace?: string };
  return namespace ?? callerOf(request).namespace;
}

function pick(body: unknown, fields: string[] = []): Record<string, unknown> {
  const all = (body ?? {}) as Record<string, unknown>;
  return Object.fromEntries(fields.filter((field) => field in all).map((field) => [field, all[field]]));
}

function rename(result: unknown, names: Record<string, string> = {}): Record<string, unknown> {
  const all = (result ?? {}) as Record<string, unknown>;
  return Object.fromEntries(Object.entries(names).map(([field, name]) => [name, all[field]]));
}
