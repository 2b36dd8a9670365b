import type { ProvidersOptions } from '#rollcall/providers';
import type { ToolExecutorOptions } from './tool.executor.js';

export const TOOLS_OPTIONS = Symbol('TOOLS_OPTIONS');

/** `read` allows GET and HEAD, `write` also POST. */
export const HTTP_FETCH_MODES = ['off', 'read', 'write'] as const;
export type HttpFetchMode = (typeof HTTP_FETCH_MODES)[number];

interface HttpFetchOptions {
  readonly mode: HttpFetchMode;
  /** The hosts that may be called, such as `*.example.com`. An empty list means all hosts that the egress rules allow. */
  readonly hosts: readonly string[];
  readonly egress: ProvidersOptions['egress'];
}

export interface ToolsOptions {
  readonly limits: ToolExecutorOptions;
  /** The names of toolboxes that no agent may use. */
  readonly off: readonly string[];
  readonly httpFetch: HttpFetchOptions;
}

export const DEFAULT_TOOLS_OPTIONS: ToolsOptions = {
  limits: { defaultTimeoutMs: 60_000, maxInputBytes: 256 * 1_024, maxOutputChars: 50_000 },
  off: [],
  httpFetch: { mode: 'off', hosts: [], egress: {} },
};
