import { context } from '@opentelemetry/api';
import type { FastifyPluginCallback } from 'fastify';

/** Standard variables of OpenTelemetry. If one of them is set, tracing is on. */
const SWITCHES = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_TRACES_EXPORTER'];

export interface Tracing {
  /** Must be registered with Fastify before any route. */
  fastifyPlugin: unknown;
  stop(): Promise<void>;
}

/**
 * Starts OpenTelemetry if one of its standard variables is set. Otherwise its packages are not loaded. Call this before the
 * Postgres driver is loaded. The SDK reads all other settings from OTEL_*.
 */
export async function startTracing(environment: NodeJS.ProcessEnv): Promise<Tracing | undefined> {
  const wanted = SWITCHES.some((name) => environment[name] && environment[name] !== 'none');
  if (!wanted || environment['OTEL_SDK_DISABLED'] === 'true') return undefined;
  const { NodeSDK } = await import('@opentelemetry/sdk-node');
  const { PgInstrumentation } = await import('@opentelemetry/instrumentation-pg');
  const { FastifyOtelInstrumentation } = await import('@fastify/otel');
  const fastify = new FastifyOtelInstrumentation({
    instrumentHooks: false,
    instrumentHandler: false,
    requestHook: (span, request) => {
      span.updateName(`${request.method} ${request.routeOptions.url ?? 'unknown'}`);
      span.setAttribute('rollcall.request_id', request.id);
      span.setAttribute('url.path', request.url.split('?', 1)[0] ?? '/'); // not the query, which may contain a ticket
      span.setAttribute('url.scheme', request.protocol);
    },
  });
  const sdk = new NodeSDK({
    serviceName: environment['OTEL_SERVICE_NAME'] ?? 'rollcall',
    instrumentations: [new PgInstrumentation({ requireParentSpan: true }), fastify],
  });
  sdk.start();
  return { fastifyPlugin: inContext(fastify.plugin()), stop: () => sdk.shutdown() };
}

/** Events of a stream have the context of the stream, so a request with a body has lost its context when its body has been read. */
function inContext(plugin: FastifyPluginCallback): FastifyPluginCallback {
  const traced: FastifyPluginCallback = (server, options, done) =>
    plugin(server, options, (error) => {
      server.addHook('preHandler', (request, _reply, next) => {
        const { context: active } = request.opentelemetry();
        if (active) context.with(active, next);
        else next();
      });
      done(error);
    });
  return Object.assign(traced, { [Symbol.for('skip-override')]: true });
}
