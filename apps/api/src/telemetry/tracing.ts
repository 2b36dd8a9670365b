/** The variables of the OpenTelemetry standard that say someone wants traces. */
const SWITCHES = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_TRACES_EXPORTER'];

export interface Tracing {
  /** To be registered with Fastify before any route. */
  fastifyPlugin: unknown;
  stop(): Promise<void>;
}

/**
 * Starts OpenTelemetry when its standard variables ask for it, and costs nothing otherwise: its packages are loaded
 * here only. Must run before Postgres' driver is loaded. Everything else is read from OTEL_* by the SDK.
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
    },
  });
  const sdk = new NodeSDK({
    serviceName: environment['OTEL_SERVICE_NAME'] ?? 'rollcall',
    instrumentations: [new PgInstrumentation({ requireParentSpan: true }), fastify],
  });
  sdk.start();
  return { fastifyPlugin: fastify.plugin(), stop: () => sdk.shutdown() };
}
