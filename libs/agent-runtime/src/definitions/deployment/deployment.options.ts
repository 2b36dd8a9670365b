import type { Quota } from '#rollcall/platform';
import type { DefinitionContent } from '../definition.js';

export const DEPLOYMENT_OPTIONS = Symbol('DEPLOYMENT_OPTIONS');

/** The definitions of this deployment. They are registered at the start. */
export interface DeploymentOptions {
  /** Definitions in code, in addition to the providers with `@AgentDefinition`. */
  readonly definitions?: readonly CodeDefinition[];
  readonly configured?: ConfiguredAgents;
  readonly files?: AgentFilesOptions;
  /** How many revisions a namespace may store through `DefinitionsService`. Removed definitions keep their revisions. */
  readonly revisionQuota?: Quota;
}

/** A definition in code. Fields without a default are required. */
export type CodeDefinition = Pick<DefinitionContent, 'description'> &
  Partial<DefinitionContent> & {
    readonly name: string;
    /** `default` if absent. */
    readonly namespace?: string;
  };

/** The agents of the configuration. */
export interface ConfiguredAgents {
  /** Contents by name; `team-a/reviewer` is the definition `reviewer` of the namespace `team-a`. */
  readonly agents?: Readonly<Record<string, unknown>>;
  /** The content of the default agent, and optionally its name. */
  readonly agent?: Readonly<Record<string, unknown>>;
}

export interface AgentFilesOptions {
  readonly folder: string;
  /** Whether the folder is loaded again when its files change. */
  readonly watch?: boolean;
  /** Whether names begin with the folder of their file. */
  readonly prefixes?: boolean;
  /** Whether a file with a warning is rejected. */
  readonly strict?: boolean;
}

/** The name of the default agent, unless the configuration names it. */
export const DEFAULT_AGENT = 'default';

/** The name of the agent that `agent` configures. */
export function defaultAgentOf({ agent }: ConfiguredAgents = {}): string {
  const name = agent?.['name'];
  return typeof name === 'string' ? name : DEFAULT_AGENT;
}
