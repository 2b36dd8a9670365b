import type { DynamicModule, LoggerService, Type } from '@nestjs/common';
import type {
  CodeDefinition,
  InputCheck,
  NamedFactory,
  OutputCheck,
  RunMiddleware,
  StandardSchema,
  Tool,
  ToolBox,
} from '#rollcall/agent-runtime';
import type { CloudEvent } from '#rollcall/platform';
import type { AgentProvider, ModelVendor } from '#rollcall/providers';
import type { BudgetSource, ScoredStrategy, ScoringRule } from '#rollcall/registry';

/** A destination of events. One replica at a time delivers to it; a failed delivery is repeated with the same events. */
export interface PluginSink {
  /** The id of the sink is `<plugin>.<name>`. */
  readonly name: string;
  /** Types, or families such as `agent.*`. Absent: all events. */
  readonly types?: readonly string[];
  /** How many events one call may deliver. The default is 100. */
  readonly batch?: number;
  /** Resolves when the destination has confirmed the events. */
  deliver(events: readonly CloudEvent[], signal: AbortSignal): Promise<void>;
  /** Called when this replica stops delivering. */
  close?(): Promise<void>;
}

/** What a plugin adds to Rollcall. Everything is optional. */
export interface PluginParts {
  /** Tools of agents. They form the toolbox with the name of the plugin. */
  readonly tools?: readonly Tool[];
  /** Further toolboxes. `toolBoxOf(object)` makes a toolbox of an object with `@Tool()` methods. */
  readonly toolBoxes?: readonly ToolBox[];
  /** Folders with skills, such as `new URL('./skills', import.meta.url)`. */
  readonly skills?: readonly (string | URL)[];
  /** Definitions of agents, which are registered at the start. */
  readonly definitions?: readonly CodeDefinition[];
  /** Factories of agents that other agents can delegate to. */
  readonly factories?: readonly NamedFactory[];
  /** Kinds of agents, by the name that definitions use as `provider`. */
  readonly agentProviders?: readonly AgentProvider[];
  /** Model vendors, by the name that presets use as `vendor`. */
  readonly modelVendors?: readonly ModelVendor[];
  /** Strategies, by the name that queries use as `prefer`. */
  readonly strategies?: readonly ScoredStrategy[];
  /** Rules that score bids, by the name that announcements of contracts use as `scoring`. */
  readonly scoringRules?: readonly ScoringRule[];
  /** Middleware around each run of an agent that Rollcall runs itself, from the outermost to the innermost. */
  readonly middleware?: readonly RunMiddleware[];
  /** Checks of the message of each run. A check that fails or does not answer in time rejects the message. */
  readonly inputGuardrails?: readonly InputCheck[];
  /** Checks of the answer of each run. A check that fails or does not answer in time rejects the answer. */
  readonly outputGuardrails?: readonly OutputCheck[];
  /** Destinations of all events. */
  readonly eventSinks?: readonly PluginSink[];
  /** Systems that count the usage of agents, by the name that agents declare as `budget.source`. */
  readonly budgetSources?: readonly BudgetSource[];
  /** Nest modules. The routes of their controllers are below `/x/<plugin>`, and each needs `@Permit()`. */
  readonly modules?: readonly (Type | DynamicModule)[];
}

/** What `setup` of a plugin gets. */
export interface PluginContext<Settings = unknown> {
  /** The configuration block of the plugin, after validation. */
  readonly config: Settings;
  /** A logger whose lines carry the name of the plugin. */
  readonly log: LoggerService;
}

/** A plugin of Rollcall: code of the operator that the server loads at its start. */
export interface Plugin<Settings = unknown> extends PluginParts {
  /** Lower-case letters, digits and hyphens. It is the name in routes, metrics, logs and `GET /v1/plugins`. */
  readonly name: string;
  readonly version?: string;
  /** The versions of Rollcall that it works with, such as `^0.1.0`. Absent: all. */
  readonly rollcall?: string;
  /** The schema of its configuration block: any Standard Schema, such as a schema of zod, Valibot or ArkType. */
  readonly config?: StandardSchema<Settings>;
  /** Called once, before the server starts. It returns parts that depend on the configuration. */
  setup?(context: PluginContext<Settings>): PluginParts | Promise<PluginParts>;
}

/** Returns the plugin unchanged; it only checks its types. A plugin is the default export of its module. */
export function definePlugin<Settings = undefined>(plugin: Plugin<Settings>): Plugin {
  return plugin;
}

/** The names of all parts. */
export const PLUGIN_PARTS = [
  'tools',
  'toolBoxes',
  'skills',
  'definitions',
  'factories',
  'agentProviders',
  'modelVendors',
  'strategies',
  'scoringRules',
  'middleware',
  'inputGuardrails',
  'outputGuardrails',
  'eventSinks',
  'budgetSources',
  'modules',
] as const satisfies readonly (keyof PluginParts)[];
export type PluginPart = (typeof PLUGIN_PARTS)[number];
