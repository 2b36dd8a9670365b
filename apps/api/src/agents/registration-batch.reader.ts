import {
  type CallHandler,
  createParamDecorator,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { defer, from, type Observable, switchMap } from 'rxjs';
import { EndpointCheck } from '#rollcall/providers';
import { validationPipe } from '../http/validation.pipe.js';
import { MOST_REGISTRATIONS, RegisterBody } from './agents.dto.js';

/** One registration of a batch: checked, or the error to answer. */
export type BatchItem = { ok: true; body: RegisterBody } | { ok: false; error: unknown };

/** After so many items, other requests get their share of the event loop. */
const ITEMS_PER_TURN = 50;
const ITEMS = new WeakMap<FastifyRequest, BatchItem[]>();

/** The checked registrations of a batch, as a parameter of the route. */
export const BatchItems = createParamDecorator(
  (_: unknown, context: ExecutionContext) => ITEMS.get(context.switchToHttp().getRequest<FastifyRequest>()) ?? [],
);

/**
 * Checks each registration of a batch by the rules of a single one. It runs before the transaction of the request begins, because
 * a host name may take long to resolve.
 */
@Injectable()
export class RegistrationBatchReader implements NestInterceptor {
  private readonly pipe = validationPipe();

  constructor(private readonly endpoints: EndpointCheck) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    return defer(() => from(this.read(request))).pipe(switchMap(() => next.handle()));
  }

  /** A body that is no batch is left to the rules of the route. */
  private async read(request: FastifyRequest): Promise<void> {
    const agents = (request.body as { agents?: unknown } | undefined)?.agents;
    if (!Array.isArray(agents) || agents.length > MOST_REGISTRATIONS) return;
    const checkEndpoint = this.endpointChecker();
    const items: BatchItem[] = [];
    for (const [index, agent] of agents.entries()) {
      if (index % ITEMS_PER_TURN === ITEMS_PER_TURN - 1) await new Promise(setImmediate);
      items.push(await this.check(agent, checkEndpoint));
    }
    ITEMS.set(request, items);
  }

  private async check(agent: unknown, checkEndpoint: (text: string) => Promise<string>): Promise<BatchItem> {
    try {
      const body = (await this.pipe.transform(agent, { type: 'body', metatype: RegisterBody })) as RegisterBody;
      if (body.endpoint) body.endpoint = await checkEndpoint(body.endpoint);
      return { ok: true, body };
    } catch (error) {
      return { ok: false, error };
    }
  }

  /** Resolves each address of a batch once. */
  private endpointChecker(): (text: string) => Promise<string> {
    const checked = new Map<string, Promise<string>>();
    return async (text) => {
      const known = checked.get(text) ?? this.endpoints.check(text);
      checked.set(text, known);
      return await known;
    };
  }
}
