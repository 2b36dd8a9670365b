import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyRequest } from 'fastify';

/** The request, wherever its work leads: logs, audit records and traces read its id and its caller from here. */
export const requestContext = new AsyncLocalStorage<FastifyRequest>();
