import { Logger } from '@nestjs/common';
import { Counter, Gauge, type Registry } from 'prom-client';

/** A value and the labels of its series. */
export type Sample<Label extends string> = readonly [value: number, labels: Record<Label, string>];

interface Facts<Label extends string> {
  name: string;
  help: string;
  labels?: readonly Label[];
}

type Read<Label extends string> = () => readonly Sample<Label>[] | Promise<readonly Sample<Label>[]>;

const log = new Logger('metrics');

/** A gauge that is read when the metrics are scraped. If that fails, its series are missing and all other metrics are served. */
export function gauge<Label extends string = never>(registry: Registry, facts: Facts<Label>, read: Read<Label>): void {
  const { name, help, labels = [] } = facts;
  const metric: Gauge<Label> = new Gauge<Label>({
    name,
    help,
    labelNames: labels,
    registers: [registry],
    collect: async () => {
      const samples = await samplesOf(name, read);
      metric.reset();
      if (labels.length === 0) metric.remove(); // after the reset it is 0, which is wrong if the value cannot be read
      for (const [value, series] of samples) metric.set(series, value);
    },
  });
}

/** A counter whose total is kept elsewhere, and read when the metrics are scraped. */
export function counter<Label extends string = never>(
  registry: Registry,
  facts: Facts<Label>,
  read: () => readonly Sample<Label>[],
): void {
  const { name, help, labels = [] } = facts;
  const metric: Counter<Label> = new Counter<Label>({
    name,
    help,
    labelNames: labels,
    registers: [registry],
    collect: () => {
      metric.reset();
      for (const [value, series] of read()) metric.inc(series, value);
    },
  });
}

/** The samples of a metric without labels. */
export function single(value: number): Sample<never>[] {
  return [[value, {}]];
}

/** Reads once for all metrics of a scrape that need the same values. */
export function once<T>(read: () => Promise<T>): () => Promise<T> {
  let current: Promise<T> | undefined;
  return async () => await (current ??= read().finally(() => (current = undefined)));
}

async function samplesOf<Label extends string>(name: string, read: Read<Label>): Promise<readonly Sample<Label>[]> {
  try {
    return await read();
  } catch (error) {
    log.warn({ event: 'metrics.not_measured', metric: name, err: error });
    return [];
  }
}
