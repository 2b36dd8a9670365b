import { Logger } from '@nestjs/common';

/** How long code of plugins may take. */
export interface PluginLimits {
  /** Loading a plugin, including its `setup`. */
  readonly loadMs: number;
  /** One check of a guardrail. */
  readonly guardrailMs: number;
  /** One delivery of a sink, one query of a budget source, and the creation of an agent. */
  readonly callMs: number;
}

export type PluginFault = 'error' | 'timeout';

/** How often a part, such as `tool`, failed since the start of the process. */
export interface PluginFaults {
  readonly part: string;
  readonly kind: PluginFault;
  count: number;
}

/** Code of a plugin did not answer in time. It may continue, but its result is ignored. */
class PluginTimeoutError extends Error {
  override readonly name = 'PluginTimeoutError';
}

/** A strategy that fails for each agent, or a guardrail that fails in each run, must not fill the log. */
const LOG_PAUSE_MS = 1_000;

/** Calls the code of one plugin: counts and logs its failures, and limits its time. */
export class PluginGuard {
  readonly log: Logger;
  private readonly counts: PluginFaults[] = [];
  private readonly quietUntil = new WeakMap<PluginFaults, number>();

  constructor(
    readonly plugin: string,
    readonly limits: PluginLimits,
  ) {
    this.log = new Logger(`plugin:${plugin}`);
  }

  get faults(): readonly Readonly<PluginFaults>[] {
    return this.counts;
  }

  report(
    part: string,
    error: unknown,
    kind: PluginFault = error instanceof PluginTimeoutError ? 'timeout' : 'error',
  ): void {
    const known = this.counts.find((one) => one.part === part && one.kind === kind);
    const fault = known ?? { part, kind, count: 0 };
    if (!known) this.counts.push(fault);
    fault.count += 1;
    const now = Date.now();
    if (now < (this.quietUntil.get(fault) ?? 0)) return;
    this.quietUntil.set(fault, now + LOG_PAUSE_MS);
    this.log.warn({ event: 'plugin.failed', plugin: this.plugin, part, kind, count: fault.count, err: error });
  }

  /** Rejects if the call fails or takes longer than the limit. */
  async within<Value>(part: string, limitMs: number, call: () => Value | Promise<Value>): Promise<Value> {
    let timer: NodeJS.Timeout | undefined;
    try {
      const limit = new Promise<never>((_, reject) => {
        const message = `The ${part} of the plugin ${this.plugin} did not answer within ${limitMs} ms.`;
        timer = setTimeout(() => reject(new PluginTimeoutError(message)), limitMs);
      });
      return await Promise.race([call(), limit]);
    } catch (error) {
      this.report(part, error);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Without a time limit: for calls that return no promise, and for promises whose time another part limits. */
  call<Value>(part: string, call: () => Value): Value {
    try {
      const value = call();
      if (value instanceof Promise) value.catch((error: unknown) => this.report(part, error));
      return value;
    } catch (error) {
      this.report(part, error);
      throw error;
    }
  }

  /** For calls whose failure has no other effect than the report. */
  attempt<Value>(part: string, call: () => Value): Value | undefined {
    try {
      return call();
    } catch (error) {
      this.report(part, error);
      return undefined;
    }
  }
}
