import { LocalServer } from '#rollcall/providers/testing';

interface Value {
  stringValue?: string;
  intValue?: number | string;
  doubleValue?: number;
  boolValue?: boolean;
  arrayValue?: { values: Value[] };
}

interface KeyValue {
  key: string;
  value: Value;
}

interface WireSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: KeyValue[];
  links?: { traceId: string; spanId: string }[];
  status?: { code?: number };
}

interface WireMetric {
  name: string;
  unit: string;
  histogram?: { dataPoints: { attributes: KeyValue[]; count: number | string }[] };
}

interface Batch {
  resourceSpans?: { scopeSpans: { spans: WireSpan[] }[] }[];
  resourceMetrics?: { scopeMetrics: { metrics: WireMetric[] }[] }[];
}

export type Attributes = Record<string, unknown>;
const KINDS = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'] as const;

/** A span as OTLP describes it. */
export interface OtlpSpan extends Pick<WireSpan, 'traceId' | 'spanId' | 'name'> {
  readonly parent: string;
  readonly kind: (typeof KINDS)[number];
  readonly attributes: Attributes;
  readonly links: { traceId: string; spanId: string }[];
  readonly failed: boolean;
}

export interface OtlpSeries {
  readonly name: string;
  readonly unit: string;
  readonly attributes: Attributes;
  readonly count: number;
}

/** Receives OTLP over HTTP as JSON, and decodes it. */
export class OtlpCollector {
  private constructor(private readonly server: LocalServer) {}

  static async start(): Promise<OtlpCollector> {
    return new OtlpCollector(await LocalServer.start((_request, response) => response.end('{}')));
  }

  /** The variables with which a process sends its telemetry here, often enough for a test. */
  get environment(): Record<string, string> {
    return {
      OTEL_EXPORTER_OTLP_ENDPOINT: this.server.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '100',
      OTEL_METRIC_EXPORT_INTERVAL: '1000',
      OTEL_METRIC_EXPORT_TIMEOUT: '1000',
      OTEL_LOGS_EXPORTER: 'none',
    };
  }

  /** All that was received, as text. */
  get text(): string {
    return JSON.stringify(this.batches);
  }

  get spans(): OtlpSpan[] {
    const scopes = this.batches.flatMap(({ resourceSpans = [] }) => resourceSpans.flatMap((one) => one.scopeSpans));
    return scopes.flatMap(({ spans }) => spans).map(toSpan);
  }

  get series(): OtlpSeries[] {
    const scopes = this.batches.flatMap(({ resourceMetrics = [] }) =>
      resourceMetrics.flatMap((one) => one.scopeMetrics),
    );
    return scopes.flatMap(({ metrics }) => metrics).flatMap(toSeries);
  }

  async close(): Promise<void> {
    await this.server.close();
  }

  private get batches(): Batch[] {
    return this.server.requests.map(({ body }) => body as Batch);
  }
}

function toSpan({
  traceId,
  spanId,
  parentSpanId = '',
  name,
  kind,
  attributes,
  links = [],
  status,
}: WireSpan): OtlpSpan {
  const facts = { traceId, spanId, parent: parentSpanId, name, kind: KINDS[kind] ?? 'UNSPECIFIED' };
  return { ...facts, attributes: toAttributes(attributes), links, failed: status?.code === 2 };
}

function toSeries({ name, unit, histogram }: WireMetric): OtlpSeries[] {
  const points = histogram?.dataPoints ?? [];
  return points.map(({ attributes, count }) => ({
    name,
    unit,
    attributes: toAttributes(attributes),
    count: Number(count),
  }));
}

function toAttributes(list: readonly KeyValue[]): Attributes {
  return Object.fromEntries(list.map(({ key, value }) => [key, toValue(value)]));
}

function toValue({ stringValue, intValue, doubleValue, boolValue, arrayValue }: Value): unknown {
  if (arrayValue) return arrayValue.values.map(toValue);
  return stringValue ?? boolValue ?? doubleValue ?? (intValue === undefined ? undefined : Number(intValue));
}
