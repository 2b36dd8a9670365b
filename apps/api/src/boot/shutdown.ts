import { Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { App } from '../app.js';
import type { Config } from '../config/config.schema.js';

/** How long requests on open connections are served after the port is closed. A proxy may have sent them before it noticed the shutdown. */
const LAST_REQUESTS_MS = 750;

/**
 * Stops the application in this order:
 * 1. readiness reports 503, so that the proxy stops sending requests here;
 * 2. for `drainDelay`, the replica still serves requests, so that the proxy can notice the 503;
 * 3. the server accepts no new connections; a proxy whose connection is refused may try another replica, even with a request that must
 *    not be sent twice; requests on open connections are served for `LAST_REQUESTS_MS`, then they are rejected;
 * 4. the shutdown hooks of Nest stop the parts in the order of `SHUTDOWN_ORDER` (libs/platform).
 * After `timeout` the process stops waiting for requests in progress.
 */
export async function shutDown(app: App, settings: Config['shutdown']): Promise<void> {
  const { nest, lifecycle } = app;
  lifecycle.phase = 'draining';
  await delay(settings.drainDelay);
  // the method of the HTTP server would also close idle connections, on which the proxy may be sending a request
  Server.prototype.close.call(nest.getHttpServer());
  await delay(LAST_REQUESTS_MS);
  nest.getHttpServer().closeIdleConnections(); // otherwise, a proxy could send a request on one of them, which would be rejected
  await closeApp(app, settings);
}

/** Rejects new requests, and stops the application. */
export async function closeApp({ nest, lifecycle }: App, { timeout }: Config['shutdown']): Promise<void> {
  lifecycle.phase = 'closing';
  await Promise.race([nest.close(), delay(timeout, undefined, { ref: false })]);
}
