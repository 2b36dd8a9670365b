import type { ProvidersOptions } from '#rollcall/providers';
import type { ToolBox } from './tool.js';
import { TOOL_ALIASES } from './tool.aliases.js';
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

/** How the operator runs the commands of models. */
export interface BashOptions {
  /**
   * The program of the sandbox and its arguments. `{workspace}` in an argument is replaced by the folder of the workspace, and `bash -c <command>`
   * is added at the end. An empty list turns the tool off.
   */
  readonly sandbox: readonly string[];
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
}

export const DEFAULT_BASH_OPTIONS: BashOptions = { sandbox: [], timeoutMs: 120_000, maxOutputBytes: 48 * 1_024 };

export interface ToolsOptions {
  readonly limits: ToolExecutorOptions;
  /** The names of toolboxes that no agent may use. */
  readonly off: readonly string[];
  /** Toolboxes of plugins, and of the application. */
  readonly boxes?: readonly ToolBox[];
  /** Further names of tools, by name. */
  readonly aliases: Readonly<Record<string, string>>;
  readonly httpFetch: HttpFetchOptions;
  readonly workspaces: WorkspacesOptions;
  readonly bash: BashOptions;
}

interface WorkspacesOptions {
  /** The absolute path of the folder that contains the workspaces. If absent, the tools for files are off. */
  readonly root?: string;
}

export const DEFAULT_TOOLS_OPTIONS: ToolsOptions = {
  limits: { defaultTimeoutMs: 60_000, maxInputBytes: 256 * 1_024, maxOutputChars: 50_000 },
  off: [],
  aliases: TOOL_ALIASES,
  httpFetch: { mode: 'off', hosts: [], egress: {} },
  workspaces: {},
  bash: DEFAULT_BASH_OPTIONS,
};
