import type { FastifyRequest } from 'fastify';
import type { Config } from '../config/config.schema.js';
import { ApiError } from './api.error.js';
import { routeConfig } from './route.config.js';

/** `small`: a few fields. `ordinary`: the configured limit. `batch`: 1,000 heartbeats. */
export type BodyClass = 'small' | 'ordinary' | 'batch';

/** `streams` are requests that stay open or read a lot. `waits` are requests that wait for a run. Each kind has its own limit. */
export type RequestKind = 'requests' | 'streams' | 'waits';
/** The kind of all requests to a route, or a function of their headers and query. */
export type RouteKind = RequestKind | ((request: FastifyRequest) => RequestKind);

declare module 'fastify' {
  interface FastifyContextConfig {
    /** How large the body of the route may be. */
    body?: BodyClass;
    /** Which of a caller's limits on concurrent requests the route counts against. */
    kind?: RouteKind;
  }
}

/** Requests with a lease token are small, even if the route accepts larger bodies from an operator. */
export const LEASE_BODY_LIMIT = 16 * 1_024;
const BATCH_BODY_LIMIT = 1_024 * 1_024;

/** Sets limits of a route that differ from the defaults. */
export function Limits(limits: { body?: BodyClass; kind?: RouteKind }): MethodDecorator & ClassDecorator {
  return routeConfig(limits);
}

export function bodyLimitOf(body: BodyClass | undefined, { bodyLimit }: Config['http']): number {
  if (body === 'small') return Math.min(LEASE_BODY_LIMIT, bodyLimit);
  return body === 'batch' ? Math.max(BATCH_BODY_LIMIT, bodyLimit) : bodyLimit;
}

export function bodyTooLarge(limit: number): ApiError {
  return new ApiError('BODY_TOO_LARGE', `The body of this request may have at most ${limit} bytes.`, {
    details: { limitBytes: limit },
  });
}
