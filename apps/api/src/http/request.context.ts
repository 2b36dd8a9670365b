import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyRequest } from 'fastify';

/** The current request. Logs, audit records and traces read its id and its caller. */
export const requestContext = new AsyncLocalStorage<FastifyRequest>();
